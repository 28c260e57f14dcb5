/** Who decides tool calls. */
import type { ApproveFn } from "@coxswain/core";
import { type OmniMessage, isPayload, type ToolPermission } from "@coxswain/protocol";
import { CliUsageError } from "./exit-code.ts";

export const approvalModes = ["ask", "read-only", "allow", "deny"] as const;

export type ApprovalMode = (typeof approvalModes)[number];

export type Decision = "allow" | "deny";

/** @throws CliUsageError when there is nobody to ask */
export function approvalMode(given: ApprovalMode | undefined, hasTerminal: boolean): ApprovalMode {
  if (given === "ask" && !hasTerminal) {
    throw new CliUsageError("there is no terminal to ask at; use --approve read-only, allow or deny");
  }
  return given ?? (hasTerminal ? "ask" : "deny");
}

/** What tools may do, as the newest `tool_list_ready` says. */
export class ToolPermissions {
  readonly #permissions = new Map<string, ToolPermission>();

  add(message: OmniMessage): void {
    if (message.origin !== undefined || !isPayload(message, "tool_list_ready")) return;
    this.#permissions.clear();
    for (const { name, permission = "rw" } of message.payload.tools) this.#permissions.set(name, permission);
  }

  isReadOnly(toolName: string): boolean {
    return this.#permissions.get(toolName) === "r";
  }
}

export function decideBy(mode: ApprovalMode, permissions: ToolPermissions, ask: ApproveFn): ApproveFn {
  switch (mode) {
    case "ask":
      return ask;
    case "read-only":
      return async (toolCall) => (permissions.isReadOnly(toolCall.payload.name) ? "allow" : "deny");
    case "allow":
      return async () => "allow";
    case "deny":
      return async () => "deny";
  }
}
