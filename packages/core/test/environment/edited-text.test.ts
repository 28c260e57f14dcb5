import fc from "fast-check";
import { expect, test } from "vitest";
import { EditedText } from "../../src/environment/text/edited-text.ts";

const takesBack = Symbol("takes back");
const words = fc.string({ unit: "binary", maxLength: 40 });
const long = fc.integer({ min: 1000, max: 3000 }).map((length) => "ab\u{1F600}".repeat(length).slice(0, length));
const change = fc.oneof(words, long, fc.constant(takesBack));

test("what was added is there, and what was taken back is gone, wherever it stood", () => {
  fc.assert(
    fc.property(
      long,
      fc.array(change, { maxLength: 200 }),
      fc.integer({ max: 3000, min: 0 }),
      (start, changes, more) => {
        const edited = new EditedText(start);
        let plain = start;
        for (const one of [...changes, ...Array.from({ length: more }, () => takesBack)]) {
          if (typeof one === "string") {
            edited.append(one);
            plain += one;
          } else {
            edited.takeBack();
            plain = /[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(plain.slice(-2)) ? plain.slice(0, -2) : plain.slice(0, -1);
          }
        }
        expect(edited.toString()).toBe(plain);
        expect(edited).toHaveLength(plain.length);
      },
    ),
    { numRuns: 50 },
  );
});
