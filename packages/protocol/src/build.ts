/**
 * Constructors of messages over an injected clock. Optional fields that are `undefined` are left out, and so is a
 * `stopReason` of `completed`.
 */
import type {
  AbortPayload,
  ApprovalDecision,
  ApprovalDecisionPayload,
  CompactionBeginPayload,
  CompactionEndPayload,
  EventPayload,
  NoticePayload,
  RequestBeginPayload,
  RequestEndPayload,
  SubagentPayload,
  TokenCounts,
  TokenUsagePayload,
  ToolDefinition,
  ToolListReadyPayload,
} from "./event.ts";
import type { OmniMessage, SessionMetaPayload, StopReason } from "./message.ts";
import type {
  Fidelity,
  FragmentEvent,
  ImageUrlPayload,
  ModelPayload,
  PartialTextPayload,
  PartialThinkingPayload,
  PartialToolCallOutputPayload,
  PartialToolCallPayload,
  Sender,
  TextPayload,
  ThinkingPayload,
  ToolCallOutputPayload,
  ToolCallPayload,
} from "./model.ts";
import { isoTimestamp } from "./timestamp.ts";

/** Allows `undefined` where a payload has an optional field; such fields are dropped. */
type Loose<T> = { [K in keyof T]: undefined extends T[K] ? T[K] | undefined : T[K] };

interface ModelOptions {
  stopReason?: StopReason | undefined;
  fidelity?: Fidelity | undefined;
}

export interface Builders {
  userText: (text: string, options?: { sender?: Sender | undefined }) => OmniMessage<TextPayload>;
  userImage: (imageUrl: string) => OmniMessage<ImageUrlPayload>;
  assistantText: (text: string, options?: ModelOptions) => OmniMessage<TextPayload>;
  thinking: (text: string, options?: ModelOptions) => OmniMessage<ThinkingPayload>;
  toolCall: (
    call: { name: string; arguments: string; toolCallId: string } & ModelOptions,
  ) => OmniMessage<ToolCallPayload>;
  toolCallOutput: (output: {
    output: string;
    toolCallId: string;
    images?: string[] | undefined;
    stopReason?: StopReason | undefined;
  }) => OmniMessage<ToolCallOutputPayload>;
  partialText: (event: FragmentEvent, text?: string, stopReason?: StopReason) => OmniMessage<PartialTextPayload>;
  partialThinking: (
    event: FragmentEvent,
    text?: string,
    stopReason?: StopReason,
  ) => OmniMessage<PartialThinkingPayload>;
  partialToolCall: (fragment: {
    eventType: FragmentEvent;
    name: string;
    toolCallId: string;
    arguments?: string | undefined;
    stopReason?: StopReason | undefined;
  }) => OmniMessage<PartialToolCallPayload>;
  partialToolCallOutput: (fragment: {
    eventType: FragmentEvent;
    toolCallId: string;
    output?: string | undefined;
    images?: string[] | undefined;
    stopReason?: StopReason | undefined;
  }) => OmniMessage<PartialToolCallOutputPayload>;
  requestBegin: () => OmniMessage<RequestBeginPayload>;
  requestEnd: (
    status: StopReason,
    details?: Loose<Omit<RequestEndPayload, "type" | "status">>,
  ) => OmniMessage<RequestEndPayload>;
  approvalDecision: (decision: ApprovalDecision, toolCallId: string) => OmniMessage<ApprovalDecisionPayload>;
  tokenUsage: (counts: { session: TokenCounts; request: TokenCounts }) => OmniMessage<TokenUsagePayload>;
  compactionBegin: (details: Omit<CompactionBeginPayload, "type">) => OmniMessage<CompactionBeginPayload>;
  compactionEnd: (details: Loose<Omit<CompactionEndPayload, "type">>) => OmniMessage<CompactionEndPayload>;
  abortEvent: (reason?: string | null, undelivered?: string[]) => OmniMessage<AbortPayload>;
  subagentEvent: (sessionId: string) => OmniMessage<SubagentPayload>;
  toolListReady: (tools: ToolDefinition[]) => OmniMessage<ToolListReadyPayload>;
  sessionMeta: (meta: Omit<SessionMetaPayload, "type">) => OmniMessage<SessionMetaPayload>;
  notice: (level: NoticePayload["level"], code: string, message: string) => OmniMessage<NoticePayload>;
}

/** A copy: deleting would leave an object behind that is large, and slow to read and to write. */
function withoutUndefined<T extends object>(value: T): T {
  const kept: Partial<T> = {};
  for (const key in value) if (value[key] !== undefined) kept[key] = value[key];
  return kept as T;
}

/** Half a surrogate pair, as a line editor or a cut leaves it, is refused by many readers, and on disk it is another. */
function wellFormed(text: string): string {
  // A host without types may give something else: whoever takes it says so.
  return typeof text === "string" ? text.toWellFormed() : text;
}

/** `completed` is said by saying nothing. */
function stated(reason: StopReason | undefined): StopReason | undefined {
  return reason === "completed" ? undefined : reason;
}

/** @param now Milliseconds since the epoch. */
export function createBuilders(now: () => number): Builders {
  const model = <P extends ModelPayload>(payload: Loose<P>): OmniMessage<P> =>
    ({
      timestamp: isoTimestamp(now()),
      type: "model_msg",
      payload: withoutUndefined(payload),
    }) as unknown as OmniMessage<P>;
  const event = <P extends EventPayload>(payload: Loose<P>): OmniMessage<P> =>
    ({
      timestamp: isoTimestamp(now()),
      type: "event_msg",
      payload: withoutUndefined(payload),
    }) as unknown as OmniMessage<P>;

  return {
    userText: (text, options) =>
      model<TextPayload>({ type: "text", role: "user", text: wellFormed(text), sender: options?.sender }),
    userImage: (imageUrl) => model<ImageUrlPayload>({ type: "image_url", role: "user", image_url: imageUrl }),
    assistantText: (text, options) =>
      model<TextPayload>({
        type: "text",
        role: "assistant",
        text,
        stop_reason: stated(options?.stopReason),
        fidelity: options?.fidelity,
      }),
    thinking: (text, options) =>
      model<ThinkingPayload>({
        type: "thinking",
        role: "assistant",
        thinking: text,
        stop_reason: stated(options?.stopReason),
        fidelity: options?.fidelity,
      }),
    toolCall: (call) =>
      model<ToolCallPayload>({
        type: "tool_call",
        role: "assistant",
        name: call.name,
        arguments: call.arguments,
        tool_call_id: call.toolCallId,
        stop_reason: stated(call.stopReason),
        fidelity: call.fidelity,
      }),
    toolCallOutput: (output) =>
      model<ToolCallOutputPayload>({
        type: "tool_call_output",
        role: "user",
        output: output.output,
        images: output.images?.length ? output.images : undefined,
        tool_call_id: output.toolCallId,
        stop_reason: stated(output.stopReason),
      }),
    partialText: (eventType, text = "", stopReason) => {
      const reason = stated(stopReason);
      const payload: PartialTextPayload = { type: "partial_text", role: "assistant", event_type: eventType, text };
      if (reason !== undefined) payload.stop_reason = reason;
      return { timestamp: isoTimestamp(now()), type: "model_msg", payload };
    },
    partialThinking: (eventType, text = "", stopReason) => {
      const reason = stated(stopReason);
      const payload: PartialThinkingPayload = {
        type: "partial_thinking",
        role: "assistant",
        event_type: eventType,
        thinking: text,
      };
      if (reason !== undefined) payload.stop_reason = reason;
      return { timestamp: isoTimestamp(now()), type: "model_msg", payload };
    },
    partialToolCall: (fragment) =>
      model<PartialToolCallPayload>({
        type: "partial_tool_call",
        role: "assistant",
        event_type: fragment.eventType,
        name: fragment.name,
        arguments: fragment.arguments ?? "",
        tool_call_id: fragment.toolCallId,
        stop_reason: stated(fragment.stopReason),
      }),
    partialToolCallOutput: (fragment) =>
      model<PartialToolCallOutputPayload>({
        type: "partial_tool_call_output",
        role: "user",
        event_type: fragment.eventType,
        output: fragment.output ?? "",
        images: fragment.images?.length ? fragment.images : undefined,
        tool_call_id: fragment.toolCallId,
        stop_reason: stated(fragment.stopReason),
      }),
    requestBegin: () => event<RequestBeginPayload>({ type: "request_begin" }),
    requestEnd: (status, details) => event<RequestEndPayload>({ type: "request_end", status, ...details }),
    approvalDecision: (decision, toolCallId) =>
      event<ApprovalDecisionPayload>({ type: "approval_decision", decision, tool_call_id: toolCallId }),
    tokenUsage: (counts) =>
      event<TokenUsagePayload>({ type: "token_usage", session: counts.session, request: counts.request }),
    compactionBegin: (details) => event<CompactionBeginPayload>({ type: "compaction_begin", ...details }),
    compactionEnd: (details) => event<CompactionEndPayload>({ type: "compaction_end", ...details }),
    abortEvent: (reason, undelivered) =>
      event<AbortPayload>({
        type: "abort",
        reason,
        undelivered: undelivered?.length ? undelivered.map(wellFormed) : undefined,
      }),
    subagentEvent: (sessionId) => event<SubagentPayload>({ type: "subagent", session_id: sessionId }),
    toolListReady: (tools) => event<ToolListReadyPayload>({ type: "tool_list_ready", tools }),
    sessionMeta: (meta) => ({
      timestamp: isoTimestamp(now()),
      type: "session_meta",
      payload: withoutUndefined(meta),
    }),
    notice: (level, code, message) => event<NoticePayload>({ type: "notice", level, code, message }),
  };
}

/** Over the system's time. */
export const wallClock: Builders = createBuilders(() => Date.now());

export const userText: Builders["userText"] = wallClock.userText;
export const userImage: Builders["userImage"] = wallClock.userImage;
export const assistantText: Builders["assistantText"] = wallClock.assistantText;
export const thinking: Builders["thinking"] = wallClock.thinking;
export const toolCall: Builders["toolCall"] = wallClock.toolCall;
export const toolCallOutput: Builders["toolCallOutput"] = wallClock.toolCallOutput;
export const partialText: Builders["partialText"] = wallClock.partialText;
export const partialThinking: Builders["partialThinking"] = wallClock.partialThinking;
export const partialToolCall: Builders["partialToolCall"] = wallClock.partialToolCall;
export const partialToolCallOutput: Builders["partialToolCallOutput"] = wallClock.partialToolCallOutput;
export const requestBegin: Builders["requestBegin"] = wallClock.requestBegin;
export const requestEnd: Builders["requestEnd"] = wallClock.requestEnd;
export const approvalDecision: Builders["approvalDecision"] = wallClock.approvalDecision;
export const tokenUsage: Builders["tokenUsage"] = wallClock.tokenUsage;
export const compactionBegin: Builders["compactionBegin"] = wallClock.compactionBegin;
export const compactionEnd: Builders["compactionEnd"] = wallClock.compactionEnd;
export const abortEvent: Builders["abortEvent"] = wallClock.abortEvent;
export const subagentEvent: Builders["subagentEvent"] = wallClock.subagentEvent;
export const toolListReady: Builders["toolListReady"] = wallClock.toolListReady;
export const sessionMeta: Builders["sessionMeta"] = wallClock.sessionMeta;
export const notice: Builders["notice"] = wallClock.notice;

/** The message as a parent Session's reader sees it: tagged with the child's id in front of any deeper ones. */
export function withOrigin(message: OmniMessage, sessionId: string): OmniMessage {
  return { ...message, origin: [sessionId, ...(message.origin ?? [])] };
}

export function emptyTokenCounts(): TokenCounts {
  return { input: 0, cache_read: 0, cache_write: 0, output: 0, total: 0 };
}

export function addTokenCounts(a: TokenCounts, b: TokenCounts): TokenCounts {
  return {
    input: a.input + b.input,
    cache_read: a.cache_read + b.cache_read,
    cache_write: a.cache_write + b.cache_write,
    output: a.output + b.output,
    total: a.total + b.total,
  };
}
