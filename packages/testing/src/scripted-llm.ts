/** A model that says what it was told to say, one step a request. */
import {
  type Builders,
  createBuilders,
  emptyTokenCounts,
  type GenerateParameters,
  type LLMInterface,
  type LLMOutcome,
  type OmniMessage,
  type StopReason,
  type TokenCounts,
} from "@coxswain/core";

export interface ScriptedReply {
  thinking?: string;
  /** Several strings come as several deltas. */
  text?: string | string[];
  calls?: { name: string; arguments?: string; id?: string }[];
  /** Default `completed`. Of any other end, what was said is closed with it. */
  end?: StopReason;
  /** The rest of the outcome. */
  outcome?: Omit<LLMOutcome, "status">;
  /** Default 10 tokens in, 5 out. */
  usage?: Partial<TokenCounts>;
  /** Awaited before the end of the stream. */
  hold?: Promise<void>;
}

type Stream = AsyncGenerator<OmniMessage, LLMOutcome>;

/** A reply, or the whole stream by hand. */
export type ScriptedStep = ScriptedReply | ((parameters: GenerateParameters) => Stream);

export interface ScriptedLLM extends LLMInterface {
  /** What each request sent, copied when it came. */
  readonly requests: GenerateParameters[];
}

/** @param steps One a request. A request beyond the last step fails and says so. */
export function scriptedLLM(steps: readonly ScriptedStep[], build: Builders = wallClock): ScriptedLLM {
  const requests: GenerateParameters[] = [];
  let calls = 0;
  return {
    requests,
    streamGenerate(parameters) {
      const step = steps[requests.length];
      requests.push({ ...parameters, newMessages: [...parameters.newMessages] });
      if (typeof step === "function") return step(parameters);
      const reply = step ?? { end: "failed", outcome: { errorMessage: `the script has no step ${requests.length}` } };
      return play(reply, build, parameters.signal, () => `call_${calls++}`);
    },
  };
}

const wallClock = createBuilders(() => Date.now());

async function* play(
  reply: ScriptedReply,
  build: Builders,
  signal: AbortSignal | undefined,
  newId: () => string,
): Stream {
  const end = reply.end ?? "completed";
  const texts = reply.text === undefined ? [] : [reply.text].flat();
  const stopReason = end === "completed" ? undefined : end;
  if (reply.thinking !== undefined) {
    yield build.partialThinking("start");
    yield build.partialThinking("delta", reply.thinking);
    yield build.partialThinking("stop", "");
    yield build.thinking(reply.thinking);
  }
  if (texts.length > 0) {
    yield build.partialText("start");
    for (const text of texts) yield build.partialText("delta", text);
    yield build.partialText("stop", "", stopReason);
    yield build.assistantText(texts.join(""), { stopReason });
  }
  for (const call of reply.calls ?? []) {
    const fragment = { name: call.name, toolCallId: call.id ?? newId() };
    const json = call.arguments ?? "{}";
    yield build.partialToolCall({ ...fragment, eventType: "start" });
    yield build.partialToolCall({ ...fragment, eventType: "delta", arguments: json });
    yield build.partialToolCall({ ...fragment, eventType: "stop" });
    yield build.toolCall({ ...fragment, arguments: json });
  }
  if (reply.hold !== undefined) await reply.hold;
  if (signal?.aborted === true) return { status: "aborted" };
  if (end === "completed") {
    const request = { ...emptyTokenCounts(), input: 10, output: 5, total: 15, ...reply.usage };
    yield build.tokenUsage({ session: request, request });
  }
  return { status: end, ...reply.outcome };
}
