/** Carries out what the turn's state machine says: asks, runs, records. Knows nothing of requests. */
import {
  type Builders,
  isPayload,
  type OmniMessage,
  type OpenSegment,
  parseOmniMessage,
  type ToolCallOutputPayload,
  type ToolCallPayload,
} from "@coxswain/protocol";
import { withCallId } from "./calls.ts";
import { engineDefaults } from "./defaults.ts";
import { wordsOf } from "./error.ts";
import { eventLoopTurn } from "./event-loop.ts";
import type { Interruption } from "./interruption.ts";
import type { ApproveFn, EnvironmentInterface } from "./ports.ts";
import type { Recorder } from "./recorder.ts";
import { newTurn, step, type Turn, type TurnEffect, type TurnInput } from "./turn.ts";

export type Call = OmniMessage<ToolCallPayload>;

type ToolStream = ReturnType<EnvironmentInterface["executeTool"]>;

export interface TurnDriverOptions {
  environment: EnvironmentInterface;
  approve: ApproveFn | undefined;
  recorder: Recorder;
  interruption: Interruption;
  build: Builders;
  /** Children whose `subagent` event has been written, over the whole Session. */
  knownChildren: Set<string>;
}

const refusals = {
  deny: "Tool call denied by user.",
  forbidden: "Tool call denied by policy.",
} as const;

export class TurnDriver {
  readonly #options: TurnDriverOptions;
  /** Every call of the attempt has its output, or was withdrawn. Never resolves after an interrupt. */
  readonly settled: Promise<void>;
  #settle: () => void = () => undefined;
  #turn: Turn = newTurn;
  /** By slot. */
  readonly #calls: Call[] = [];

  constructor(options: TurnDriverOptions) {
    this.#options = options;
    this.settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** A complete call left the model's stream and is in the Trace. */
  add(call: Call): void {
    this.#calls.push(call);
    this.#step({ at: "call" });
  }

  endStream(): void {
    this.#step({ at: "stream-end" });
  }

  /** What is not decided now never will be, and never runs. */
  withdraw(): void {
    this.#step({ at: "withdraw" });
  }

  #step(input: TurnInput): void {
    if (this.#options.interruption.fired) return;
    const [turn, effects] = step(this.#turn, input);
    this.#turn = turn;
    for (const effect of effects) void this.#carryOut(effect);
  }

  async #carryOut(effect: TurnEffect): Promise<void> {
    if (effect.do === "settle") return this.#settle();
    const call = this.#calls[effect.slot] as Call;
    switch (effect.do) {
      case "ask":
        return this.#step({ at: "decided", slot: effect.slot, decision: await this.#decide(call) });
      case "execute":
        await this.#execute(call);
        return this.#step({ at: "closed" });
      case "refuse":
        await this.#refuse(call, effect.decision);
        return this.#step({ at: "closed" });
      default:
        return effect satisfies never;
    }
  }

  async #decide(call: Call): Promise<"allow" | "deny" | "forbidden"> {
    const { environment, approve } = this.#options;
    try {
      if (environment.forbids?.(call) !== undefined) return "forbidden";
      return (await approve?.(copyOf(call))) === "allow" ? "allow" : "deny";
    } catch {
      return "deny";
    }
  }

  async #refuse(call: Call, decision: "deny" | "forbidden"): Promise<void> {
    const { recorder, build } = this.#options;
    const toolCallId = call.payload.tool_call_id;
    const decided = recorder.record(build.approvalDecision(decision, toolCallId));
    const answered = recorder.record(
      build.toolCallOutput({ toolCallId, output: refusals[decision], stopReason: "aborted" }),
    );
    await decided;
    await answered;
  }

  async #execute(call: Call): Promise<void> {
    const { recorder, build, interruption } = this.#options;
    const toolCallId = call.payload.tool_call_id;
    await recorder.record(build.approvalDecision("allow", toolCallId));
    if (interruption.fired) return;
    let output: OmniMessage<ToolCallOutputPayload> | undefined;
    let fault = "the tool ended without an output";
    try {
      output = await this.#run(call);
    } catch (error) {
      fault = `the tool failed: ${wordsOf(error)}`;
    }
    if (interruption.fired) return;
    const isCall = (segment: OpenSegment): boolean =>
      segment.kind === "tool_output" && segment.toolCallId === toolCallId;
    if (output === undefined && recorder.segments.some(isCall)) {
      for (const message of recorder.segments.close("failed", build, { which: isCall, outputNote: `\n[${fault}]` })) {
        await recorder.take(message);
      }
      return;
    }
    await recorder.record(output ?? build.toolCallOutput({ toolCallId, output: `[${fault}]`, stopReason: "failed" }));
  }

  /** Shows what the tool streams, and gives its first complete output. */
  async #run(call: Call): Promise<OmniMessage<ToolCallOutputPayload> | undefined> {
    const { environment, approve, interruption } = this.#options;
    // A copy: what runs, and what is told of it, is what stands in the Trace.
    const toolCall = copyOf(call);
    const stream = environment.executeTool({ toolCall, signal: interruption.signal, approve });
    try {
      return await this.#takeAll(stream, call);
    } finally {
      // Whatever would come after the output or an interrupt is not heard; what the tool must tidy up, it does now.
      stream.return(undefined).catch(() => undefined);
    }
  }

  async #takeAll(stream: ToolStream, call: Call): Promise<OmniMessage<ToolCallOutputPayload> | undefined> {
    const { interruption, recorder } = this.#options;
    for (let taken = 1; ; taken += 1) {
      if (taken % engineDefaults.messagesPerLoopTurn === 0) await eventLoopTurn();
      const result = await stream.next();
      if (interruption.fired || result.done === true) return undefined;
      const message = result.value;
      if (message.origin !== undefined) {
        await this.#forwardChild(message);
      } else if (isPayload(message, "tool_call_output")) {
        return checked(withCallId(message, call.payload.tool_call_id));
      } else if (isPayload(message, "notice") || isPayload(message, "partial_tool_call_output")) {
        await recorder.take(checked(message));
      }
      if (interruption.fired) return undefined;
    }
  }

  async #forwardChild(message: OmniMessage): Promise<void> {
    const { knownChildren, recorder, build, interruption } = this.#options;
    const child = message.origin?.[0];
    if (child !== undefined && !knownChildren.has(child)) {
      knownChildren.add(child);
      await recorder.record(build.subagentEvent(child));
    }
    if (!interruption.fired) recorder.show(message);
  }
}

/** @throws ProtocolError for what nobody could read back: the call has failed, in words */
function checked<Message extends OmniMessage>(message: Message): Message {
  parseOmniMessage(message);
  return message;
}

function copyOf(call: Call): Call {
  return { ...call, payload: { ...call.payload } };
}
