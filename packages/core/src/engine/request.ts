/** One attempt at one request: from `request_begin` to `request_end`. Tasks and compactions share it. */
import {
  isPayload,
  type OmniMessage,
  type OpenSegment,
  parseOmniMessage,
  readTokenCounts,
  type StopReason,
  stopReasons,
  type TokenCounts,
} from "@coxswain/protocol";
import { isWholeCall } from "./carry-over.ts";
import { withRequest } from "./ledger.ts";
import { showValue, wordsOf } from "./error.ts";
import type { LLMInterface, LLMOutcome } from "./ports.ts";
import { endDetails, judge, type RetryLimits, type Tries, type Verdict } from "./retry.ts";
import { engineDefaults } from "./defaults.ts";
import { eventLoopTurn } from "./event-loop.ts";
import type { EngineParts, OpenRequest, Run } from "./run.ts";
import type { Call } from "./turn-driver.ts";

export interface AttemptRequest {
  purpose: "turn" | "summary";
  /** Asked once `request_begin` is written. */
  input(): OmniMessage[];
  /** A complete call that is in the Trace. */
  onCall(call: Call): void;
  /** A complete text that is in the Trace. */
  onText?(text: OmniMessage): void;
  /** Before this attempt. */
  tries: Tries;
}

export interface AttemptResult {
  outcome: LLMOutcome;
  verdict: Verdict;
}

/** @throws Interrupted */
export async function runAttempt(run: Run, request: AttemptRequest): Promise<AttemptResult> {
  const { recorder, build, ledger } = run.parts;
  run.interruption.check();
  const reader = new ModelReader(run, request);
  run.request = reader;
  await recorder.record(build.requestBegin());
  // In the same moment: what is between a look at the interrupt and the call is time in which one can come.
  run.interruption.check();
  const outcome = await run.interruption.until(reader.read(request.input()));
  const verdict = judge(outcome, request.tries, retryLimits(run, request.purpose));
  await closeModelSegments(run, outcome.status === "completed" ? "malformed" : outcome.status);
  run.request = undefined;
  if (verdict.retryInMs !== undefined) run.parts.wait.announce(run.interruption);
  await recorder.record(build.requestEnd(verdict.status, endDetails(verdict, outcome)));
  if (outcome.usage !== undefined && outcome.status !== "completed") {
    await recorder.record(build.tokenUsage(withRequest(ledger, countsOf(outcome.usage))));
  }
  run.interruption.check();
  return { outcome, verdict };
}

function retryLimits({ parts }: Run, purpose: AttemptRequest["purpose"]): RetryLimits {
  const { maxReconnects, compactionMaxReconnects, reconnectBackoffMs, reconnectBackoffMaxMs } = parts.limits;
  const isTurn = purpose === "turn";
  return {
    maxReconnects: isTurn ? maxReconnects : compactionMaxReconnects,
    maxEmptyReplies: isTurn ? engineDefaults.maxEmptyReplies : compactionMaxReconnects,
    backoffMs: reconnectBackoffMs,
    backoffMaxMs: reconnectBackoffMaxMs,
  };
}

/** Closes what the model left open; a tool's output goes on. */
export async function closeModelSegments(run: Run, status: StopReason): Promise<void> {
  const { recorder, build } = run.parts;
  if (recorder.segments.size === 0) return;
  const which = (segment: OpenSegment): boolean => segment.kind !== "tool_output" && segment.origin === undefined;
  await recorder.takeAll(recorder.segments.close(status, build, { which }));
}

class ModelReader implements OpenRequest {
  isCommitted = false;
  stopped: Promise<unknown> = Promise.resolve();
  #isAbandoned = false;
  readonly #run: Run;
  readonly #request: AttemptRequest;

  constructor(run: Run, request: AttemptRequest) {
    this.#run = run;
    this.#request = request;
  }

  abandon(): void {
    this.#isAbandoned = true;
  }

  read(newMessages: OmniMessage[]): Promise<LLMOutcome> {
    const reading = this.#readAll(newMessages).then(
      (outcome) =>
        this.isCommitted && outcome.status !== "completed" ? { ...outcome, status: "completed" as const } : outcome,
      (error: unknown): LLMOutcome => ({
        status: this.isCommitted ? "completed" : "failed",
        errorMessage: `the model adapter failed: ${wordsOf(error)}`,
      }),
    );
    this.stopped = reading;
    return reading;
  }

  async #readAll(newMessages: OmniMessage[]): Promise<LLMOutcome> {
    const { parts, interruption, thinkingLevel } = this.#run;
    const stream = modelOf(parts).streamGenerate({
      newMessages,
      tools: parts.tools,
      purpose: this.#request.purpose,
      signal: interruption.signal,
      thinkingLevel: this.#request.purpose === "turn" ? thinkingLevel : undefined,
    });
    try {
      return await this.#readStream(stream);
    } catch (error) {
      // It may have been in order for the model, and then it still goes on.
      void leave(stream);
      throw error;
    }
  }

  /** @throws what the model throws, and Error for what it may not say */
  async #readStream(stream: ModelStream): Promise<LLMOutcome> {
    const { parts, interruption, outbox } = this.#run;
    const { recorder } = parts;
    for (let taken = 1; ; taken += 1) {
      const result = await stream.next();
      if (this.#isAbandoned) return aborted;
      if (result.done === true) return checkedOutcome(result.value);
      const message = result.value;
      const payload = message.payload;
      if (
        payload.type === "partial_text" ||
        payload.type === "partial_thinking" ||
        payload.type === "partial_tool_call"
      ) {
        recorder.show(message);
      } else {
        this.#takeWhole(message);
        if (recorder.isBehind) await recorder.idle();
      }
      if (interruption.fired) {
        void leave(stream);
        return aborted;
      }
      if (outbox.isFull) await outbox.room();
      // A model that always has more at once would keep every signal and timer waiting.
      if (taken % engineDefaults.messagesPerLoopTurn === 0) await eventLoopTurn();
    }
  }

  /**
   * Does not wait: what the model says next may go into the same write.
   *
   * @throws ProtocolError for what is no message: it would be lost to everybody who reads the Trace
   */
  #takeWhole(message: OmniMessage): void {
    const { recorder, ledger } = this.#run.parts;
    if (isPayload(message, "token_usage")) {
      this.isCommitted = true;
      const counts = withRequest(ledger, countsOf(message.payload.request));
      recorder.add({ ...message, payload: { ...message.payload, ...counts } });
    } else if (isOfModel(message)) {
      parseOmniMessage(message);
      recorder.add(message, { onRecorded: () => this.#onRecorded(message) });
    }
  }

  #onRecorded(message: OmniMessage): void {
    if (this.#run.interruption.fired) return;
    if (isWholeCall(message)) this.#request.onCall(message);
    else if (isPayload(message, "text")) this.#request.onText?.(message);
  }
}

type ModelStream = ReturnType<LLMInterface["streamGenerate"]>;

const aborted: LLMOutcome = { status: "aborted" };

async function leave(stream: ModelStream): Promise<void> {
  try {
    await stream.return(aborted);
  } catch {
    // What it says to that is of no interest any more.
  }
}

/** The newest context's; one that could not be opened when its context began is opened now. */
function modelOf(parts: EngineParts): LLMInterface {
  if (parts.llm !== undefined) return parts.llm;
  const opened = parts.compaction?.createLLM(parts.ledger.sessionTokens);
  if (opened === undefined) throw new Error("createLLM gave no model for the context after the compaction");
  parts.llm = opened;
  return opened;
}

/** @throws Error for one that says nothing of how the request ended */
function checkedOutcome(outcome: LLMOutcome): LLMOutcome {
  const { status, errorMessage }: { [K in keyof LLMOutcome]?: unknown } = Object(outcome);
  if (!stopReasons.some((reason) => reason === status)) {
    throw new Error(
      `its stream ended with the status ${showValue(status)}, which is none of ${stopReasons.join(", ")}`,
    );
  }
  if (errorMessage === undefined || typeof errorMessage === "string") return outcome;
  return { ...outcome, errorMessage: showValue(errorMessage) };
}

/** Whatever an adapter counts, or does not. */
function countsOf(counts: Partial<TokenCounts> | null): TokenCounts {
  return readTokenCounts(counts ?? {});
}

/** The engine's own records are the engine's to write. */
function isOfModel(message: OmniMessage): boolean {
  const payload = message.payload;
  switch (payload.type) {
    case "notice":
      return true;
    case "text":
    case "inline_data":
      return payload.role === "assistant";
    default:
      return message.type === "model_msg" && payload.type !== "tool_call_output" && payload.type !== "image_url";
  }
}
