/** From a signal to the end of the run, when whoever is waited for never answers. */
import {
  type ApproveFn,
  defineTool,
  type LLMInterface,
  type LLMOutcome,
  type OmniMessage,
  type TraceStore,
} from "@coxswain/core";
import { type Figure, median, milliseconds } from "../measure.ts";
import { playedModel } from "../played-model.ts";
import { approve, build, Setting } from "../setting.ts";

const rounds = 50;
const warmUps = 5;
const limitMs = 50;

const never = new Promise<never>(() => undefined);

const deafTool = defineTool({
  name: "deaf",
  description: "Never ends.",
  parameters: { type: "object" },
  permission: "r",
  execute: () => never,
});

interface Silence {
  who: string;
  /** The message at which it is interrupted. */
  at: OmniMessage["payload"]["type"];
  model: () => LLMInterface;
  approve: ApproveFn;
  hangs?: boolean;
}

const silences: readonly Silence[] = [
  { who: "a model", at: "request_begin", model: () => ({ streamGenerate: () => new DeafStream() }), approve },
  { who: "a tool", at: "approval_decision", model: callingModel, approve },
  { who: "an approver", at: "request_end", model: callingModel, approve: () => never },
  { who: "a Trace", at: "request_begin", model: callingModel, approve, hangs: true },
];

export async function interrupt(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const silence of silences) {
    const tookMs: number[] = [];
    for (let round = 0; round < warmUps + rounds; round += 1) {
      const ms = await interruptOnce(silence);
      if (round >= warmUps) tookMs.push(ms);
    }
    const worstMs = Math.max(...tookMs);
    figures.push({
      workload: `interrupt while ${silence.who} never answers, median and worst of ${rounds}`,
      floor: "0",
      measured: `${milliseconds(median(tookMs))}, ${milliseconds(worstMs)}`,
      target: `< ${limitMs} ms`,
      isMet: worstMs < limitMs,
    });
  }
  return figures;
}

async function interruptOnce({ at, model, approve: decide, hangs = false }: Silence): Promise<number> {
  const setting = await Setting.open();
  try {
    const trace = new HangingStore(setting.store);
    const agent = await setting.agent({ model, tools: [deafTool], ...(hangs && { trace }) });
    const session = await agent.createSession({ workspaceDir: setting.home });
    const controller = new AbortController();
    const seen: OmniMessage[] = [];
    let firedMs = 0;
    for await (const message of session.run([build.userText("go")], { approve: decide, signal: controller.signal })) {
      seen.push(message);
      if (message.payload.type !== at || firedMs > 0) continue;
      trace.isHanging = true;
      // Whoever is asked now is asked before the signal.
      await new Promise((resolve) => setTimeout(resolve, 5));
      firedMs = performance.now();
      controller.abort();
    }
    const ms = performance.now() - firedMs;
    if (firedMs === 0 || seen.at(-1)?.payload.type !== "abort") throw new Error(`${session.id} was not interrupted`);
    if (!hangs) await setting.checkRecords(session, seen);
    trace.isHanging = false;
    await session.dispose();
    return ms;
  } finally {
    await setting.close();
  }
}

function callingModel(): LLMInterface {
  return playedModel(() => ({ calls: [{ name: "deaf", arguments: "{}", toolCallId: "call_0" }] }));
}

/** Neither answers nor ends. */
class DeafStream implements AsyncGenerator<OmniMessage, LLMOutcome> {
  next(): Promise<never> {
    return never;
  }

  return(): Promise<never> {
    return never;
  }

  throw(): Promise<never> {
    return never;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  [Symbol.asyncDispose](): Promise<never> {
    return never;
  }
}

/** Files that take no record as long as they hang. */
class HangingStore implements TraceStore {
  isHanging = false;
  readonly #store: TraceStore;

  constructor(store: TraceStore) {
    this.#store = store;
  }

  async open(sessionId: string): ReturnType<TraceStore["open"]> {
    const sink = await this.#store.open(sessionId);
    return {
      write: (message) => (this.isHanging ? never : sink.write(message)),
      rotate: () => sink.rotate(),
      close: () => sink.close(),
    };
  }

  read(sessionId: string, options?: Parameters<TraceStore["read"]>[1]): ReturnType<TraceStore["read"]> {
    return this.#store.read(sessionId, options);
  }

  list(): ReturnType<TraceStore["list"]> {
    return this.#store.list();
  }
}
