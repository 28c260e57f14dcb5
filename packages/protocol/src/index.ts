/** The public list: everything that other packages and users may rely on. */
export type { Builders } from "./build.ts";
export {
  abortEvent,
  addTokenCounts,
  approvalDecision,
  assistantText,
  compactionBegin,
  compactionEnd,
  createBuilders,
  emptyTokenCounts,
  notice,
  partialText,
  partialThinking,
  partialToolCall,
  partialToolCallOutput,
  requestBegin,
  requestEnd,
  sessionMeta,
  subagentEvent,
  thinking,
  tokenUsage,
  toolCall,
  toolCallOutput,
  toolListReady,
  userImage,
  userText,
  withOrigin,
} from "./build.ts";
export type { ProtocolErrorCode } from "./error.ts";
export { ProtocolError } from "./error.ts";
export type {
  AbortPayload,
  ApprovalDecision,
  ApprovalDecisionPayload,
  CompactionBeginPayload,
  CompactionEndPayload,
  CompactionMode,
  CompactionReason,
  EventPayload,
  FinishReason,
  JSONSchema7,
  McpConnectBeginPayload,
  McpConnectEndPayload,
  McpServerResult,
  NoticePayload,
  RequestBeginPayload,
  RequestEndPayload,
  SubagentPayload,
  TokenCounts,
  TokenUsagePayload,
  ToolDefinition,
  ToolListReadyPayload,
  ToolPermission,
} from "./event.ts";
export { approvalDecisions, compactionModes } from "./event.ts";
export type { MarkerTag } from "./marker/grammar.ts";
export { escapeBareMarkers, escapeMarkers, markerTags, unescapeMarkers } from "./marker/grammar.ts";
export { readSteering, steeringText } from "./marker/steering.ts";
export { contextSummaryText, extractSummary, readContextSummary } from "./marker/summary.ts";
export type { TurnEntry, TurnTag } from "./marker/turn.ts";
export { turnBlock, turnBlockBody } from "./marker/turn.ts";
export {
  isCompleted,
  isCompleteModelMessage,
  isEventMessage,
  isModelMessage,
  isPartial,
  isPayload,
  isSessionMeta,
  unreachable,
} from "./match.ts";
export type { OmniMessage, OmniPayload, SessionMetaPayload, StopReason, ThinkingLevelName } from "./message.ts";
export { stopReasons, thinkingLevels } from "./message.ts";
export type {
  CompleteModelPayload,
  Fidelity,
  FragmentEvent,
  ImageUrlPayload,
  InlineDataPayload,
  InlineThinkingPayload,
  ModelPayload,
  PartialPayload,
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
export type { CloseOptions, OpenSegment } from "./open-segments.ts";
export { OpenSegments } from "./open-segments.ts";
export type { ParseResult } from "./schema.ts";
export { parseOmniMessage, readOmniMessage, readTokenCounts, safeParseOmniMessage } from "./schema.ts";
export type { SegmentBuilders } from "./segment.ts";
export { fragmentsOf, PartialAggregator } from "./stream.ts";
export { isoTimestamp } from "./timestamp.ts";
