/** What a tool is: a definition that the model sees, and a function that the Environment frames. */
import type { JSONSchema7, StopReason, ToolDefinition, ToolPermission } from "@coxswain/protocol";
import type { ApproveFn, Preview } from "../engine/ports.ts";

export interface ToolContext {
  /** Absolute path. */
  workspaceDir: string;
  toolCallId: string;
  /** Fires on interrupt and on time-out; a tool must settle promptly after it. */
  signal: AbortSignal;
  approve: ApproveFn | undefined;
}

export interface ToolResult {
  output: string;
  /** Data URLs. */
  images?: string[];
  /** Told to the model outside the output limit: exit code, signal, time-out. */
  note?: string;
  /** Default `completed`. */
  stopReason?: StopReason;
}

/** A tool as the Environment holds it; made by `defineTool`. */
export interface Tool {
  readonly definition: ToolDefinition & { parameters: JSONSchema7; permission: ToolPermission };
  /** Milliseconds of one call; `undefined` = the Environment's default. */
  readonly timeoutMs?: number | undefined;
  /** Characters that the model gets at most. */
  readonly maxOutputLength?: number | undefined;
  /** Arguments checked against `definition.parameters`, or the words that say what does not fit. */
  validate(args: unknown): Promise<{ ok: true; value: unknown } | { ok: false; message: string }>;
  preview?(args: unknown, context: ToolContext): Promise<Preview | undefined>;
  /**
   * What `readToolResult` takes, a promise of it, or an async generator of text that returns it (or nothing: then the
   * joined text is the output). A throw makes the call `failed`.
   */
  execute(args: unknown, context: ToolContext): unknown;
}
