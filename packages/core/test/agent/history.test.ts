import { isPayload, type OmniMessage, type Session, userText } from "@coxswain/core";
import { appendFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { storedPlace } from "./stored-session.ts";
import { atEnd, collect } from "./support.ts";

const compaction = { maxContextLength: 100, mode: "summarize", prompt: "Summarize." } as const;

function outline(messages: readonly OmniMessage[]): string[] {
  return messages.flatMap(({ payload }) => (payload.type === "text" ? [`${payload.role}: ${payload.text}`] : []));
}

async function compacted() {
  const place = await storedPlace(
    [
      [
        { text: "one" },
        { end: "failed", outcome: { contextOverflow: true, errorMessage: "too long" } },
        { text: "short" },
      ],
      [{ text: "two" }],
      [{ text: "A title" }],
    ],
    { compaction },
  );
  const session = await (await place.agent()).createSession({ workspaceDir: place.workspace });
  atEnd(() => session.dispose());
  for (const text of ["first", "the long one"]) await collect(session.run([userText(text)]));
  return { place, session };
}

const said = ["user: first", "assistant: one", "user: the long one", "assistant: short", "assistant: two"];

async function traceFile(session: Session, tracesDir: string): Promise<string> {
  const names = await readdir(tracesDir, { recursive: true });
  const name =
    names
      .filter((one) => one.includes(session.id) && one.endsWith(".jsonl"))
      .sort()
      .at(-1) ?? "";
  return join(tracesDir, name);
}

describe("the history of a Session", () => {
  it("goes over all model contexts, without our prompts, and without what a context repeats of the one before", async () => {
    const { session } = await compacted();
    const all = await collect(session.history());
    expect(outline(all)).toEqual(said);
    expect(all.some(({ type }) => type === "session_meta")).toBe(false);
  });

  it("counts its indices from the Session's first message, whatever is asked for", async () => {
    const { session } = await compacted();
    const all = await collect(session.history());
    for (const [options, expected] of [
      [{ before: 3 }, all.slice(0, 3)],
      [{ limit: 2 }, all.slice(-2)],
      [{ before: 5, limit: 2 }, all.slice(3, 5)],
      [{ before: 0 }, []],
      [{ limit: 0 }, []],
      [{ before: -4 }, []],
      [{ limit: -1 }, []],
      [{ before: 10_000, limit: 10_000 }, all],
      [{ before: Number.NaN, limit: Number.POSITIVE_INFINITY }, all],
      [{ before: 2.9 }, all.slice(0, 2)],
    ] as const) {
      expect(await collect(session.history(options)), JSON.stringify(options)).toEqual(expected);
    }
  });

  it("is what the file holds when its last line was cut or others cannot be read", async () => {
    const { place, session } = await compacted();
    await session.dispose();
    const path = await traceFile(session, place.tracesDir);
    await appendFile(path, 'no json\n{"timestamp":"2026-01-01T00:00:00.000Z","type":"model_msg","payl');
    const again = await (await place.agent()).resumeSession(session.id);
    atEnd(() => again.dispose());
    const notices: string[] = [];
    again.onNotice(({ code }) => notices.push(code));
    expect(outline(await collect(again.history()))).toEqual(said);
    expect(notices).toEqual(["trace_torn", "trace_damaged"]);
  });

  it("is the same of a Session without a Trace: other contexts, failed attempts and interrupts are in it", async () => {
    const told: string[][] = [];
    for (const options of [{}, { trace: false }] as const) {
      const place = await storedPlace(
        [
          [{ text: "half", end: "timeout" }, { text: "whole" }, { text: "[summary]so far[/summary]" }],
          [{ text: "two" }, { text: "stopped", end: "timeout" }],
        ],
        { compaction: { ...compaction, maxContextLength: 0 }, ...options },
      );
      const session = await (await place.agent()).createSession({ workspaceDir: place.workspace });
      atEnd(() => session.dispose());
      for await (const message of session.run([userText("go")])) {
        if (isPayload(message, "request_end")) setImmediate(() => session.skipReconnectWait());
      }
      await collect(session.compact());
      await collect(session.run([userText("more")]));
      const stop = new AbortController();
      for await (const message of session.run([userText("and more")], { signal: stop.signal })) {
        if (isPayload(message, "request_end")) stop.abort();
      }
      const seen = await collect(session.history());
      told.push(seen.map(({ payload }) => JSON.stringify("text" in payload ? payload.text : payload.type)));
    }
    expect(told[1]).toEqual(told[0]);
    for (const text of ["go", "half", "whole", "more", "two", "and more", "stopped", "abort"]) {
      expect(told[1]).toContain(JSON.stringify(text));
    }
  });
});

describe("the title of a Session", () => {
  it("is found from its beginning, also when that was compacted", async () => {
    const { place, session } = await compacted();
    expect(await session.generateTitle()).toBe("A title");
    const [prompt] = place.models.at(-1)?.requests[0]?.newMessages ?? [];
    expect(JSON.stringify(prompt?.payload)).toMatch(/user: first.*assistant: one.*user: the long one/);
    expect(outline(await collect(session.history()))).toEqual(said);
  });
});
