/** A model and an Environment that say again what a Trace says that they said, each line at its turn. */
import {
  type ApproveFn,
  type BackgroundReport,
  createBuilders,
  engineDefaults,
  type EnvironmentInterface,
  type GenerateParameters,
  type LLMInterface,
  type LLMOutcome,
  type OmniMessage,
} from "@coxswain/core";
import { type Exchanges, outcomeOf, type RecordedCall, type RecordedRequest } from "./exchanges.ts";
import type { RecordedInterrupt } from "./interrupts.ts";
import type { Moments } from "./moments.ts";
import type { RecordedRun } from "./recorded-runs.ts";
import { never, type Stage } from "./stage.ts";

export interface SentRequest {
  /** Index of its `request_begin` among the records. */
  index: number;
  parameters: GenerateParameters;
}

export interface RecordedPartsOptions {
  stage: Stage;
  exchanges: Exchanges;
  interrupts: readonly RecordedInterrupt[];
  moments: Moments;
  backoffMs(attempt: number): number;
  /** The run that is under way. */
  run(): RecordedRun | undefined;
}

interface Opened {
  promise: Promise<void>;
  resolve(): void;
}

const build = createBuilders(() => 0);

export class RecordedParts {
  readonly sent: SentRequest[] = [];
  readonly #options: RecordedPartsOptions;
  readonly #asked = new Map<string, RecordedCall>();
  /** Outputs that an interrupt has cut, by their indices. */
  readonly #openings = new Map<number, Opened>();
  #listener: ((report: BackgroundReport) => void) | undefined;

  constructor(options: RecordedPartsOptions) {
    this.#options = options;
  }

  readonly llm: LLMInterface = {
    streamGenerate: (parameters) => {
      const { stage, exchanges } = this.#options;
      const index = stage.next - 1;
      this.sent.push({ index, parameters: { ...parameters, newMessages: [...parameters.newMessages] } });
      return this.#speak(exchanges.requests.get(index) ?? unanswered(index));
    },
  };

  readonly approve: ApproveFn = async (toolCall) => {
    const call = this.#asked.get(toolCall.payload.tool_call_id);
    if (call?.decision === undefined) return never;
    const { stage, moments } = this.#options;
    const { index } = call.decision;
    if (!this.#isAskedWithRefusal(call)) await stage.turn(index);
    const delay = moments.delayOf(index);
    if (delay !== undefined) stage.bring(index + 1);
    for (let passed = 0; passed < (delay ?? 0); passed += 1) await Promise.resolve();
    this.#decided(call);
    return call.decision.value === "allow" ? "allow" : "deny";
  };

  readonly environment: EnvironmentInterface = {
    connect: () => this.#connect(),
    listTools: async () => {
      const run = this.#options.run();
      if (run?.toolsProblem !== undefined) throw new Error(run.toolsProblem);
      return run?.tools ?? never;
    },
    forbids: (toolCall) => {
      const id = toolCall.payload.tool_call_id;
      const call = this.#newestCall(id);
      if (call !== undefined) this.#asked.set(id, call);
      if (call?.decision?.value !== "forbidden") return undefined;
      this.#decided(call);
      return "a rule";
    },
    executeTool: ({ toolCall }) => this.#execute(this.#asked.get(toolCall.payload.tool_call_id)),
    onReport: (listener) => {
      this.#listener = listener;
      return () => (this.#listener = undefined);
    },
    toolPermission: (name) => this.#options.run()?.tools?.find((tool) => tool.name === name)?.permission,
  };

  /** Background work has ended. */
  report(report: BackgroundReport): void {
    this.#listener?.(report);
  }

  /** The policy has just refused the call before, and the answer comes before anything else. */
  #isAskedWithRefusal(call: RecordedCall): boolean {
    const { decisions } = this.#options.exchanges;
    const { decision, output } = decisions[decisions.indexOf(call) - 1] ?? {};
    if (decision?.value !== "forbidden" || call.index > decision.index) return false;
    return output !== undefined && output.index + 1 === call.decision?.index;
  }

  /** A refusal is its call's output too. */
  #decided({ decision, output }: RecordedCall): void {
    if (decision === undefined) return;
    this.#options.stage.follow(decision.index);
    if (decision.value !== "allow" && output !== undefined) this.#options.stage.follow(output.index);
  }

  #newestCall(id: string): RecordedCall | undefined {
    const { stage, exchanges } = this.#options;
    return exchanges.calls.get(id)?.findLast(({ index }) => index < stage.next);
  }

  async *#speak(request: RecordedRequest): AsyncGenerator<OmniMessage, LLMOutcome> {
    const { stage, moments } = this.#options;
    let before = request.begin;
    for (const line of request.lines) {
      if (this.#interruptAt(line.index) !== undefined) {
        yield* opening(line.message);
        continue;
      }
      // What it said just before has been handed over, and needs not be written yet.
      if (moments.isApart(line.index)) await stage.turnApart(line.index);
      else if (before === request.begin || !stage.isNext(before, line.index)) await stage.turn(line.index);
      else stage.follow(line.index);
      yield* fragments(line.message);
      yield line.message;
      before = line.index;
    }
    const { end } = request;
    if (end === undefined || this.#interruptAt(end.index) !== undefined) return never;
    // Once it has failed nobody is asked about its calls any more, so whoever was asked was asked before.
    if (end.payload.status !== "completed" && !this.#isRefusedAfter(end.index)) await stage.turnApart(end.index);
    else if (before === request.begin || !stage.isNext(before, end.index)) await stage.turn(end.index);
    else stage.follow(end.index);
    return outcomeOf(request, (attempt) => this.#options.backoffMs(attempt));
  }

  /** A policy does not let anybody wait: what it refuses afterwards had come together with the end. */
  #isRefusedAfter(end: number): boolean {
    const { decisions } = this.#options.exchanges;
    return decisions.find((call) => (call.decision?.index ?? 0) > end)?.decision?.value === "forbidden";
  }

  async *#connect(): AsyncGenerator<OmniMessage> {
    for (const { index, message } of this.#options.run()?.connecting ?? []) {
      await this.#options.stage.turn(index);
      yield message;
    }
    const run = this.#options.run();
    if (run?.tools === undefined && run?.toolsProblem === undefined) await never;
  }

  async *#execute(call: RecordedCall | undefined): AsyncGenerator<OmniMessage> {
    const { stage } = this.#options;
    for (const { index, message } of call?.asides ?? []) {
      await stage.turn(index);
      yield message.payload.type === "subagent" ? childMessage(message.payload.session_id) : message;
    }
    if (call?.output === undefined) return never;
    const { index, message } = call.output;
    const interrupt = this.#interruptAt(index);
    if (interrupt !== undefined) {
      await stage.turn(interrupt.at);
      // They are closed in the order in which they were opened.
      const before = stage.records[index - 1]?.message;
      if (index > interrupt.at && before?.payload.type === "tool_call_output") await this.#opened(index - 1).promise;
      yield* opening(message);
      this.#opened(index).resolve();
      return never;
    }
    await stage.turn(index);
    yield message;
  }

  #opened(index: number): Opened {
    const known = this.#openings.get(index);
    if (known !== undefined) return known;
    let resolve: () => void = () => undefined;
    const opened = { promise: new Promise<void>((settle) => (resolve = settle)), resolve: () => resolve() };
    this.#openings.set(index, opened);
    return opened;
  }

  /** The interrupt that the record is a consequence of. */
  #interruptAt(index: number): RecordedInterrupt | undefined {
    return this.#options.interrupts.find(({ at, abort }) => index >= at && index < abort);
  }
}

/** A request that the Trace does not have: nothing was ever said to it. */
function unanswered(begin: number): RecordedRequest {
  return { begin, purpose: "turn", attempt: 1, lines: [], hasCalls: false, end: undefined, isOverflow: false };
}

/** All that a reader of the engine needs to know that a child has spoken. */
function childMessage(sessionId: string): OmniMessage {
  return { ...build.requestBegin(), origin: [sessionId] };
}

/** The fragments in front of a complete message, in one piece each. */
function* fragments(message: OmniMessage): Iterable<OmniMessage> {
  const { payload } = message;
  const stopReason = "stop_reason" in payload ? payload.stop_reason : undefined;
  yield* opening(message);
  if (payload.type === "text") yield build.partialText("stop", "", stopReason);
  else if (payload.type === "thinking") yield build.partialThinking("stop", "", stopReason);
  else if (payload.type === "tool_call") {
    const { name, tool_call_id: toolCallId } = payload;
    yield build.partialToolCall({ eventType: "stop", name, toolCallId, stopReason });
  }
}

/** A segment that has begun and not ended. */
function* opening({ payload }: OmniMessage): Iterable<OmniMessage> {
  switch (payload.type) {
    case "text":
      yield build.partialText("start");
      yield build.partialText("delta", payload.text);
      return;
    case "thinking":
      yield build.partialThinking("start");
      yield build.partialThinking("delta", payload.thinking);
      return;
    case "tool_call": {
      const { name, arguments: json, tool_call_id: toolCallId } = payload;
      yield build.partialToolCall({ eventType: "start", name, toolCallId });
      yield build.partialToolCall({ eventType: "delta", name, toolCallId, arguments: json });
      return;
    }
    case "tool_call_output": {
      const { tool_call_id: toolCallId, images } = payload;
      const output = payload.output.slice(0, -engineDefaults.interruptedPlaceholder.length);
      yield build.partialToolCallOutput({ eventType: "start", toolCallId });
      yield build.partialToolCallOutput({ eventType: "delta", toolCallId, output, images });
    }
  }
}
