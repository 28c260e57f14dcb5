/** What each request of a Trace was answered, and what became of each call: the lines of a model and of its tools. */
import {
  type ApprovalDecision,
  isCompleted,
  isPayload,
  type LLMOutcome,
  type OmniMessage,
  readTokenCounts,
  type RequestEndPayload,
  type TokenCounts,
} from "@coxswain/core";
import type { ProcessSpan } from "./processes.ts";
import type { TraceRecord } from "./recorded-trace.ts";

export interface Line {
  index: number;
  message: OmniMessage;
}

export interface RecordedRequest {
  /** Index of its `request_begin`. */
  begin: number;
  purpose: "turn" | "summary";
  /** 1-based, in its turn or compaction. */
  attempt: number;
  lines: Line[];
  /** Whole ones. */
  hasCalls: boolean;
  /** Absent: its process died first. */
  end: { index: number; payload: RequestEndPayload; usage: TokenCounts | undefined } | undefined;
  /** The provider said that the input does not fit. */
  isOverflow: boolean;
}

export interface RecordedCall {
  id: string;
  index: number;
  decision: { index: number; value: ApprovalDecision } | undefined;
  output: Line | undefined;
  /** Notices and first messages of children while it ran. */
  asides: Line[];
}

export interface Exchanges {
  /** By the index of their `request_begin`. */
  requests: Map<number, RecordedRequest>;
  /** By id, oldest first: one context may use an id that another one used. */
  calls: Map<string, RecordedCall[]>;
  /** Calls in the order in which they were decided. */
  decisions: RecordedCall[];
  /** What no run of an engine leaves, in words. */
  obstacle: string | undefined;
}

/** Codes of notices that the engine itself gives. */
const engineNotices: ReadonlySet<string> = new Set(["compaction_off", "tools_unavailable", "background_ended"]);

export function findExchanges(records: readonly TraceRecord[], span: ProcessSpan): Exchanges {
  const reader = new ExchangeReader(records);
  for (let index = span.start; index < span.end; index += 1) reader.take(index);
  reader.giveAsides();
  return reader;
}

class ExchangeReader implements Exchanges {
  readonly requests = new Map<number, RecordedRequest>();
  readonly calls = new Map<string, RecordedCall[]>();
  readonly decisions: RecordedCall[] = [];
  /** Allowed, and without an output. */
  readonly #running = new Set<RecordedCall>();
  readonly #asides: { line: Line; running: RecordedCall[] }[] = [];
  obstacle: string | undefined;
  readonly #records: readonly TraceRecord[];
  #request: RecordedRequest | undefined;
  #isOpen = false;
  #isCompacting = false;

  constructor(records: readonly TraceRecord[]) {
    this.#records = records;
  }

  take(index: number): void {
    const record = this.#records[index];
    if (record === undefined) return;
    const { message } = record;
    const { payload } = message;
    const isTurn = this.#request?.purpose === "turn";
    switch (payload.type) {
      case "compaction_begin":
        this.#isCompacting = true;
        if (payload.reason === "context" && this.#request?.end?.payload.status === "failed") {
          this.#request.isOverflow = true;
        }
        this.#request = undefined;
        return;
      case "compaction_end":
        this.#isCompacting = false;
        this.#request = undefined;
        return;
      case "abort":
        this.#running.clear();
        this.#isOpen = false;
        this.#request = undefined;
        return;
      case "request_begin":
        return this.#begin(index);
      case "request_end":
        if (this.#request === undefined || !this.#isOpen) return this.#refuse(record, "ends no request");
        this.#request.end = { index, payload, usage: undefined };
        this.#isOpen = false;
        return;
      case "token_usage":
        if (this.#isOpen) this.#request?.lines.push({ index, message });
        else if (this.#request?.end !== undefined) this.#request.end.usage = readTokenCounts(payload.request);
        return;
      case "tool_call":
        this.#say({ index, message });
        if (isTurn && isCompleted(payload)) this.#call(payload.tool_call_id, index);
        return;
      case "approval_decision": {
        const call = this.calls.get(payload.tool_call_id)?.at(-1);
        if (call === undefined || call.decision !== undefined) {
          return this.#refuse(record, "decides a call that is not there");
        }
        call.decision = { index, value: payload.decision };
        this.decisions.push(call);
        if (payload.decision === "allow") this.#running.add(call);
        return;
      }
      case "tool_call_output":
        return this.#answer(record, payload.tool_call_id, { index, message });
      case "subagent":
        return this.#aside(record, { index, message });
      case "notice":
        return this.#note(record, { index, message });
      case "text":
      case "inline_data":
        if (payload.role === "assistant" && this.#isOpen) this.#say({ index, message });
        return;
      default:
        if (message.type === "model_msg" && payload.type !== "image_url") this.#say({ index, message });
    }
  }

  #begin(index: number): void {
    if (this.#isOpen) this.#refuse(this.#records[index], "begins while the request before it has no end");
    const before = this.#request;
    const isRetry = before?.end?.payload.retry_in_ms !== undefined;
    const goesOn = isRetry || (this.#isCompacting && before !== undefined);
    this.#request = {
      begin: index,
      purpose: this.#isCompacting ? "summary" : "turn",
      attempt: goesOn ? (before?.attempt ?? 0) + 1 : 1,
      lines: [],
      hasCalls: false,
      end: undefined,
      isOverflow: false,
    };
    this.requests.set(index, this.#request);
    this.#isOpen = true;
  }

  #say(line: Line): void {
    if (this.#isOpen) this.#request?.lines.push(line);
    else this.#refuse(this.#records[line.index], "is said by a model outside of a request");
  }

  #call(id: string, index: number): void {
    const call: RecordedCall = { id, index, decision: undefined, output: undefined, asides: [] };
    const others = this.calls.get(id);
    if (others === undefined) this.calls.set(id, [call]);
    else others.push(call);
    if (this.#request !== undefined) this.#request.hasCalls = true;
  }

  #answer(record: TraceRecord, id: string, line: Line): void {
    const call = this.calls.get(id)?.findLast((one) => one.output === undefined);
    if (call === undefined) this.#refuse(record, "answers a call that is not there");
    else if (call.decision === undefined) this.#refuse(record, "answers a call that nobody decided");
    else {
      call.output = line;
      this.#running.delete(call);
    }
  }

  #note(record: TraceRecord, line: Line): void {
    if (!isPayload(line.message, "notice")) return;
    const { code } = line.message.payload;
    if (engineNotices.has(code)) return;
    else if (this.#isOpen) this.#request?.lines.push(line);
    else if (this.#running.size > 0) this.#aside(record, line);
  }

  #aside(record: TraceRecord, line: Line): void {
    if (this.#running.size === 0) this.#refuse(record, "comes from a tool, and none was running");
    else this.#asides.push({ line, running: [...this.#running] });
  }

  /** Of those that were running, whoever ran longest keeps nobody waiting. */
  giveAsides(): void {
    for (const { line, running } of this.#asides) {
      const endOf = ({ output }: RecordedCall): number => output?.index ?? Number.POSITIVE_INFINITY;
      running.reduce((longest, call) => (endOf(call) > endOf(longest) ? call : longest)).asides.push(line);
    }
  }

  #refuse(record: TraceRecord | undefined, why: string): void {
    if (record === undefined) return;
    this.obstacle ??= `${record.place} (${String(record.message.payload.type)}) ${why}`;
  }
}

const gaveUp = /^gave up after (\d+) attempts: /;

/** What the model's adapter must have reported for the request to end as it did. */
export function outcomeOf(request: RecordedRequest, backoffMs: (attempt: number) => number): LLMOutcome {
  if (request.end === undefined) return { status: "aborted" };
  const { payload, usage } = request.end;
  const words = payload.error_message;
  const hasGivenUp = payload.status === "failed" && Number(gaveUp.exec(words ?? "")?.[1]) === request.attempt;
  const errorMessage = hasGivenUp ? words?.replace(gaveUp, "") : words;
  const retryAfterMs = payload.retry_in_ms;
  return {
    status: hasGivenUp ? transientStatus(request, payload) : payload.status,
    ...(errorMessage === undefined ? {} : { errorMessage }),
    ...(payload.finish_reason === undefined ? {} : { finishReason: payload.finish_reason }),
    ...(payload.finish_reason_raw === undefined ? {} : { finishReasonRaw: payload.finish_reason_raw }),
    ...(usage === undefined ? {} : { usage }),
    ...(retryAfterMs === undefined || retryAfterMs <= backoffMs(request.attempt) ? {} : { retryAfterMs }),
    ...(request.isOverflow ? { contextOverflow: true } : {}),
  };
}

/** Which of the two that are tried again; the record of the last attempt says only that it was the last. */
function transientStatus(request: RecordedRequest, end: RequestEndPayload): "timeout" | "malformed" {
  const said = request.lines.flatMap(({ message: { payload } }) =>
    "stop_reason" in payload ? [payload.stop_reason] : [],
  );
  return end.finish_reason !== undefined || said.includes("malformed") ? "malformed" : "timeout";
}
