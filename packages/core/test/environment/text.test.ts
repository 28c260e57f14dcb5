import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CommandOutput } from "../../src/environment/command/command-output.ts";
import { EscapeStripper } from "../../src/environment/command/escape-stripper.ts";
import { LineRewriter } from "../../src/environment/text/line-rewriter.ts";
import { gateText, TextGate } from "../../src/environment/text/text-gate.ts";
import { hasLoneSurrogate } from "./support.ts";

/** The text in pieces of the given lengths, over and over. */
function inPieces<T extends string | Buffer>(whole: T, lengths: readonly number[]): T[] {
  const pieces: T[] = [];
  for (let start = 0, count = 0; start < whole.length; count++) {
    const length = lengths[count % lengths.length] ?? 1;
    pieces.push(
      (typeof whole === "string" ? whole.slice(start, start + length) : whole.subarray(start, start + length)) as T,
    );
    start += length;
  }
  return pieces;
}

const splits = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 6 });
const printed = fc.string({
  unit: fc.constantFrom(
    "a",
    "é",
    "🐧",
    "\n",
    "\r",
    "\r\n",
    "\b",
    "\x1b[31m",
    "\x1b[2K",
    "\x1b]0;t\x07",
    "\x1b",
    "[",
    "\x9b1m",
    "\0",
  ),
  maxLength: 60,
});

describe("reading in pieces", () => {
  test("the gate gives the same text however it was split", () => {
    const secrets = ["abababab", "ababababab-longer", "bbaabbaa"];
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "b", "ab", "abab", "-longer", "🐧"), maxLength: 40 }),
        splits,
        (text, lengths) => {
          const gate = new TextGate(secrets);
          const out =
            inPieces(text, lengths)
              .map((piece) => gate.push(piece))
              .join("") + gate.flush();
          for (const secret of secrets) expect(out).not.toContain(secret);
          expect(out).toBe(gateText(text, secrets));
        },
      ),
    );
  });

  test("the stripper gives the same text however it was split, and no control character", () => {
    fc.assert(
      fc.property(printed, splits, (text, lengths) => {
        const stripper = new EscapeStripper();
        const out = inPieces(text, lengths)
          .map((piece) => stripper.push(piece))
          .join("");
        expect(out).toBe(new EscapeStripper().push(text));
        expect(out.replace(/[\t\n\r\b]/g, "")).not.toMatch(/\p{Cc}/u);
      }),
    );
  });

  test("lines end in the same state however they were split and shown", () => {
    fc.assert(
      fc.property(printed, splits, fc.array(fc.boolean(), { minLength: 1 }), (text, lengths, shows) => {
        const whole = new LineRewriter();
        whole.push(text);
        const rewriter = new LineRewriter();
        const shown = inPieces(text, lengths).map((piece, index) => {
          rewriter.push(piece);
          return shows[index % shows.length] === true ? rewriter.takeVisible() : "";
        });
        // A reader that knows lines only by these rules ends with the same text.
        const reader = new LineRewriter();
        for (const piece of [...shown, rewriter.takeAll()]) reader.push(piece);
        expect(reader.takeAll()).toBe(whole.takeAll());
      }),
    );
  });

  test("bytes of any kind become text without control and without half characters", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000 }), splits, (bytes, lengths) => {
        const output = new CommandOutput();
        for (const piece of inPieces(Buffer.from(bytes), lengths)) output.push(piece);
        const text = output.takeAll();
        expect(hasLoneSurrogate(text)).toBe(false);
        expect(text.replace(/[\t\n\r]/g, "")).not.toMatch(/\p{Cc}/u);
        expect(output.takeAll()).toBe("");
      }),
    );
  });
});

test("what was shown of a line is taken back by backspaces, also when nothing of it is left, and of a long one the end", () => {
  const reader = new LineRewriter();
  const rewriter = new LineRewriter();
  const show = (text: string): void => {
    rewriter.push(text);
    reader.push(rewriter.takeAll());
  };
  for (const text of ["work |", "\b/", "\b-", "\bdone\n", "🐧", "\b", "\n", "x".repeat(5000), "1%", "\b\b2%", "\n"])
    show(text);
  expect(reader.takeAll()).toBe(`work done\n\n${"x".repeat(5000)}2%\n`);
  show("y".repeat(5000));
  show("\rz\n");
  expect(reader.takeAll()).toBe("z\n");
});

test("a control string that never ends does not take the rest of the output", () => {
  expect(new EscapeStripper().push(`\x1b]0;title\nnext`)).toBe("\nnext");
  expect(new EscapeStripper().push(`\x1bP${"x".repeat(10_000)}end`)).toMatch(/x+end$/);
});

test("much coloured text is text", () => {
  const output = new CommandOutput();
  output.push(Buffer.from("\x1b[31mx\x1b[0m".repeat(500)));
  expect(output.takeAll()).toBe("x".repeat(500));
});
