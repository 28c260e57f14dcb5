import { setImmediate as nextLoop } from "node:timers/promises";
import { userText } from "@coxswain/core";
import { ManualClock, startWireServer, type WireExchange, type WireServer } from "@coxswain/testing";
import { afterEach, describe, expect, it } from "vitest";
import { generate } from "./support/generate.ts";
import { answer, contextFor, namedEvent, protocols, type WireProtocol } from "./support/streams.ts";

let server: WireServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

const limits = { totalMs: 10_000, firstContentMs: 3_000, idleMs: 1_000 };

async function contextOf(protocol: WireProtocol, exchange: WireExchange) {
  server = await startWireServer({ exchanges: [exchange] });
  const clock = new ManualClock();
  return { clock, llm: await contextFor(protocol, server.url, { clock, limits }) };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextLoop();
}

/** Time for what has been written to arrive. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await nextLoop();
}

/** What a protocol sends so that nobody takes the connection for dead. */
function signOfLife(protocol: WireProtocol): string {
  return protocol === "anthropic" ? namedEvent({ type: "ping" }) : ": keep-alive\n\n";
}

/** Writes piece after piece, each when it is let go. */
function gatedBody(pieces: readonly string[]) {
  const gates: (() => void)[] = [];
  const opened = pieces.map(() => new Promise<void>((resolve) => gates.push(resolve)));
  const offsets = pieces.map((_, index) => Buffer.byteLength(pieces.slice(0, index).join("")));
  let written = -1;
  const exchange: WireExchange = {
    body: pieces.join(""),
    splitAt: offsets,
    beforeWrite: (index) => ((written = index - 1), opened[index]),
    end: "hold",
  };
  const letGo = async (index: number): Promise<void> => {
    gates[index]?.();
    if (index + 1 < pieces.length) await until(() => written >= index);
    await settle();
  };
  return { exchange, letGo };
}

describe.each(protocols)("%s", (protocol) => {
  const spoken = answer(protocol, [{ text: "half a" }]).join("");
  const life = signOfLife(protocol);

  it("a head and then silence is timeout at the first-content limit", async () => {
    const { clock, llm } = await contextOf(protocol, { end: "hold" });
    const generated = generate(llm);
    await until(() => server?.requests.length === 1);
    await settle();
    clock.advance(limits.firstContentMs - 1);
    await settle();
    expect(clock.sleeping).toHaveLength(1);
    clock.advance(1);
    const { outcome } = await generated;
    expect(outcome).toMatchObject({ status: "timeout" });
    expect(outcome.errorMessage).toContain("3 s (first-content limit)");
    expect(clock.sleeping).toEqual([]);
  });

  it("signs of life before any content do not hold the first-content limit off", async () => {
    const start = answer(protocol, [])[0] ?? life;
    const { exchange, letGo } = gatedBody([life, start, life, life]);
    const { clock, llm } = await contextOf(protocol, exchange);
    const generated = generate(llm);
    for (const index of [0, 1, 2]) {
      await letGo(index);
      clock.advance(900);
    }
    await letGo(3);
    clock.advance(300);
    expect((await generated).outcome.errorMessage).toContain("3 s (first-content limit)");
  });

  it("content and then only signs of life is timeout at the idle limit", async () => {
    const { exchange, letGo } = gatedBody([spoken, life, life, life]);
    const { clock, llm } = await contextOf(protocol, exchange);
    const stream = llm.streamGenerate({ newMessages: [userText("hi")] });
    const first = stream.next();
    await letGo(0);
    await first;
    const rest = (async () => {
      for (;;) {
        const { done, value } = await stream.next();
        if (done === true) return value;
      }
    })();
    await settle();
    for (const index of [1, 2]) {
      clock.advance(400);
      await letGo(index);
    }
    clock.advance(200);
    const outcome = await rest;
    expect(outcome).toMatchObject({ status: "timeout" });
    expect(outcome.errorMessage).toContain("1 s (idle limit)");
    expect(clock.sleeping).toEqual([]);
  });

  it("a drip that does not end is timeout at the total limit", async () => {
    const drops = Array.from({ length: 30 }, (_, index) => ({ text: `drop ${index} ` }));
    const upTo = (count: number): string => answer(protocol, drops.slice(0, count)).join("");
    const pieces = drops.map((_, index) => upTo(index + 1).slice(index === 0 ? 0 : upTo(index).length));
    const { exchange, letGo } = gatedBody(pieces);
    const { clock, llm } = await contextOf(protocol, exchange);
    let drop = "";
    const read = (async () => {
      const stream = llm.streamGenerate({ newMessages: [userText("hi")] });
      for (;;) {
        const { done, value } = await stream.next();
        if (done === true) return value;
        if (value.payload.type === "partial_text") drop = value.payload.text || drop;
      }
    })();
    let isOver = false;
    void read.then(() => (isOver = true));
    let count = 0;
    for (; !isOver && count < drops.length; count += 1) {
      await letGo(count);
      await until(() => drop === drops[count]?.text);
      clock.advance(500);
      await settle();
    }
    expect(count).toBe(limits.totalMs / 500);
    const outcome = await read;
    expect(outcome).toMatchObject({ status: "timeout" });
    expect(outcome.errorMessage).toContain("10 s (total limit)");
  });
});
