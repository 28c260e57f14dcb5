/** A model and an Environment that say again what a Trace says that they said, each line at its turn. */
import {
  type ApproveFn,
  createBuilders,
  engineDefaults,
  type EnvironmentInterface,
  type GenerateParameters,
  type LLMInterface,
  type LLMOutcome,
  type OmniMessage,
} from "@coxswain/core";
import { eventLoopTurn } from "./event-loop.ts";
import { type Exchanges, outcomeOf, type RecordedCall, type RecordedRequest } from "./exchanges.ts";
import type { RecordedInterrupt } from "./interrupts.ts";
import type { RecordedRun } from "./runs.ts";
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
  backoffMs(attempt: number): number;
  /** The run that is under way. */
  run(): RecordedRun | undefined;
}

const build = createBuilders(() => 0);

export class RecordedParts {
  readonly sent: SentRequest[] = [];
  readonly #options: RecordedPartsOptions;
  readonly #asked = new Map<string, RecordedCall>();

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
    await this.#options.stage.turn(call.decision.index);
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
      return call?.decision?.value === "forbidden" ? "a rule" : undefined;
    },
    executeTool: ({ toolCall }) => this.#execute(this.#asked.get(toolCall.payload.tool_call_id)),
    toolPermission: (name) => this.#options.run()?.tools?.find((tool) => tool.name === name)?.permission,
  };

  #newestCall(id: string): RecordedCall | undefined {
    const { stage, exchanges } = this.#options;
    return exchanges.calls.get(id)?.findLast(({ index }) => index < stage.next);
  }

  async *#speak(request: RecordedRequest): AsyncGenerator<OmniMessage, LLMOutcome> {
    const { stage } = this.#options;
    let before = request.begin;
    for (const line of request.lines) {
      if (this.#interruptAt(line.index) !== undefined) {
        yield* opening(line.message);
        continue;
      }
      // What it said just before has been handed over, and needs not be written yet.
      if (before === request.begin || before !== line.index - 1) await stage.turn(line.index);
      else stage.follow(line.index);
      yield* fragments(line.message);
      yield line.message;
      before = line.index;
    }
    const { end } = request;
    if (end === undefined || this.#interruptAt(end.index) !== undefined) return never;
    if (before === request.begin || before !== end.index - 1) await stage.turn(end.index);
    else stage.follow(end.index);
    return outcomeOf(request, (attempt) => this.#options.backoffMs(attempt));
  }

  async *#connect(): AsyncGenerator<OmniMessage> {
    for (const { index, message } of this.#options.run()?.connecting ?? []) {
      await this.#options.stage.turn(index);
      yield message;
    }
    if (this.#options.run()?.tools === undefined) await never;
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
      for (let before = interrupt.at; before < index; before += 1) await eventLoopTurn();
      yield* opening(message);
      return never;
    }
    await stage.turn(index);
    yield message;
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
