/** What a Trace tells, put together: Tasks, their requests, and what became of each call. */
import { readSteering, type RecordedContext, readTokenCounts, type StopReason, type TokenCounts } from "@coxswain/core";
import { isCompleted, type OmniMessage, type RequestEndPayload } from "@coxswain/protocol";

export interface CallEntry {
  id: string;
  name: string;
  arguments: string;
  askedAt: string;
  decision?: string;
  decidedAt?: string;
  status?: string;
  output?: string;
  images?: number;
  endedAt?: string;
}

export interface RequestEntry {
  kind: "request";
  context: number;
  task: number;
  /** 1-based, over the whole account. */
  request: number;
  purpose: "turn" | "summary";
  at: string;
  endedAt?: string;
  thinking: string[];
  text: string[];
  calls: CallEntry[];
  usage?: { request: TokenCounts; session: TokenCounts };
  end?: RequestEndPayload;
}

export type AccountEntry =
  | {
      kind: "context";
      context: number;
      at: string;
      sessionId: string;
      provider: string;
      modelId: string;
      workspace: string;
      unreadableLines: number[];
      tornTail: boolean;
    }
  | { kind: "task"; context: number; task: number; at: string }
  | { kind: "input"; context: number; task: number; at: string; from: "person" | "steering" | "harness"; text: string }
  | RequestEntry
  | {
      kind: "compaction";
      context: number;
      task: number;
      at: string;
      reason: string;
      mode: string;
      tokens: number;
      endedAt?: string;
      status?: string;
      error?: string;
    }
  | { kind: "notice"; context: number; task: number; at: string; level: string; text: string }
  | {
      kind: "stop";
      context: number;
      task: number;
      at: string;
      how: "interrupted" | "failed" | "process exited" | "turns";
      reason?: string;
      undelivered?: string[];
    }
  | { kind: "other"; context: number; task: number; at: string; what: string };

export function accountOf(contexts: readonly RecordedContext[]): AccountEntry[] {
  const account = new Account();
  for (const context of contexts) account.take(context);
  return account.entries;
}

class Account {
  readonly entries: AccountEntry[] = [];
  #context = 0;
  #task = 0;
  #requests = 0;
  #isTaskOver = true;
  #request: RequestEntry | undefined;
  #isOpen = false;
  #compaction: (AccountEntry & { kind: "compaction" }) | undefined;
  readonly #calls = new Map<string, CallEntry>();

  take({ context, messages, skippedLines, tornTail }: RecordedContext): void {
    this.#context = context;
    this.#compaction = undefined;
    this.#calls.clear();
    const meta = messages.find(({ type }) => type === "session_meta");
    const about = meta?.type === "session_meta" ? meta.payload : undefined;
    this.entries.push({
      kind: "context",
      context,
      at: messages[0]?.timestamp ?? "",
      sessionId: about?.session_id ?? "",
      provider: about?.provider ?? "",
      modelId: about?.model_id ?? "",
      workspace: about?.workspace ?? "",
      unreadableLines: skippedLines,
      tornTail,
    });
    for (const message of messages) if (message.origin === undefined) this.#add(message);
  }

  #add(message: OmniMessage): void {
    const { payload, timestamp: at } = message;
    const place = { context: this.#context, task: this.#task, at };
    switch (payload.type) {
      case undefined:
      case "tool_list_ready":
      case "mcp_connect_begin":
        return;
      case "text":
        if (payload.role === "assistant") return this.#said(at, payload.text);
        return this.#input(at, payload.text, payload.sender === "harness");
      case "image_url":
        return this.#input(
          at,
          `(an image: ${payload.image_url.startsWith("data:") ? "inline" : payload.image_url})`,
          false,
        );
      case "inline_data":
        if (payload.role === "user") return this.#input(at, `(data: ${payload.mime_type})`, false);
        return this.#said(at, `(data: ${payload.mime_type})`);
      case "thinking":
        this.#request?.thinking.push(payload.thinking);
        return;
      case "tool_call":
        return this.#call(message, payload);
      case "approval_decision": {
        const call = this.#calls.get(payload.tool_call_id);
        if (call !== undefined) [call.decision, call.decidedAt] = [payload.decision, at];
        return;
      }
      case "tool_call_output": {
        const call = this.#calls.get(payload.tool_call_id);
        if (call === undefined || call.endedAt !== undefined) return;
        const { output, images = [], stop_reason: status = "completed" } = payload;
        Object.assign(call, { output, status, endedAt: at, images: images.length } satisfies Partial<CallEntry>);
        return;
      }
      case "request_begin":
        return this.#begin(at);
      case "request_end":
        return this.#end(at, payload);
      case "token_usage":
        if (this.#request !== undefined) {
          this.#request.usage = {
            request: readTokenCounts(payload.request),
            session: readTokenCounts(payload.session),
          };
        }
        return;
      case "compaction_begin": {
        const { reason, mode, context: tokens } = payload;
        this.#compaction = { kind: "compaction", ...place, reason, mode, tokens };
        this.entries.push(this.#compaction);
        return;
      }
      case "compaction_end":
        if (this.#compaction !== undefined) {
          const { status, error_message: error } = payload;
          Object.assign(this.#compaction, { status, endedAt: at, ...(error === undefined ? {} : { error }) });
        }
        this.#compaction = undefined;
        return;
      case "notice":
        this.entries.push({ kind: "notice", ...place, level: payload.level, text: payload.message });
        return;
      case "abort":
        return this.#stop(at, payload.reason ?? undefined, payload.undelivered);
      case "subagent":
        this.entries.push({ kind: "other", ...place, what: `subagent ${payload.session_id}` });
        return;
      case "mcp_connect_end":
        this.entries.push({ kind: "other", ...place, what: `tool servers ${payload.status}` });
        return;
      default:
        if (message.type === "event_msg" || payload.type !== "inline_thinking") {
          this.entries.push({ kind: "other", ...place, what: String(payload.type) });
        }
    }
  }

  #input(at: string, text: string, isOurs: boolean): void {
    const steering = isOurs ? undefined : readSteering(text);
    const isNew = this.#isTaskOver && this.#compaction === undefined && !isOurs;
    if (isNew) this.#beginTask(at);
    const from = isOurs ? "harness" : steering !== undefined && !isNew ? "steering" : "person";
    this.entries.push({ kind: "input", context: this.#context, task: this.#task, at, from, text: steering ?? text });
  }

  #beginTask(at: string): void {
    this.#task += 1;
    this.#isTaskOver = false;
    this.entries.push({ kind: "task", context: this.#context, task: this.#task, at });
  }

  #begin(at: string): void {
    const isSummary = this.#compaction !== undefined;
    // What was owed is sent without a new input.
    if (this.#isTaskOver && !isSummary) this.#beginTask(at);
    this.#requests += 1;
    this.#isOpen = true;
    this.#request = {
      kind: "request",
      context: this.#context,
      task: this.#task,
      request: this.#requests,
      purpose: isSummary ? "summary" : "turn",
      at,
      thinking: [],
      text: [],
      calls: [],
    };
    this.entries.push(this.#request);
  }

  #said(at: string, text: string): void {
    if (this.#isOpen) this.#request?.text.push(text);
    else this.#stopAt(at, "turns", text);
  }

  #call(
    { timestamp }: OmniMessage,
    payload: { name: string; arguments: string; tool_call_id: string; stop_reason?: StopReason },
  ): void {
    const isCut = !isCompleted(payload);
    const call: CallEntry = {
      id: payload.tool_call_id,
      name: payload.name,
      arguments: payload.arguments,
      askedAt: timestamp,
      ...(isCut ? { status: "cut off" } : {}),
    };
    this.#request?.calls.push(call);
    if (!isCut) this.#calls.set(call.id, call);
  }

  #end(at: string, end: RequestEndPayload): void {
    this.#isOpen = false;
    if (this.#request === undefined) return;
    Object.assign(this.#request, { end, endedAt: at });
    const { purpose, calls } = this.#request;
    if (purpose === "turn" && end.status === "completed" && calls.every(({ status }) => status === "cut off"))
      this.#isTaskOver = true;
  }

  #stop(at: string, reason: string | undefined, undelivered: string[] | undefined): void {
    const how = reason === undefined ? "interrupted" : reason === "process exited" ? "process exited" : "failed";
    this.#stopAt(at, how, how === "failed" ? reason : undefined, undelivered);
  }

  #stopAt(
    at: string,
    how: "interrupted" | "failed" | "process exited" | "turns",
    reason?: string,
    undelivered?: string[],
  ): void {
    this.#isTaskOver = true;
    this.#isOpen = false;
    this.entries.push({
      kind: "stop",
      context: this.#context,
      task: this.#task,
      at,
      how,
      ...(reason === undefined ? {} : { reason }),
      ...(undelivered === undefined ? {} : { undelivered }),
    });
  }
}
