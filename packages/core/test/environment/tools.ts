import { defineTool } from "../../src/environment/define-tool.ts";

const none = { type: "object" };

export function streaming(deltas: readonly string[], more: { maxOutputLength?: number } = {}) {
  return defineTool({
    name: "speak",
    description: "",
    parameters: none,
    permission: "r",
    ...more,
    async *execute() {
      yield* deltas;
    },
  });
}

export function answering(execute: () => unknown, more: { maxOutputLength?: number; timeoutMs?: number } = {}) {
  return defineTool({ name: "answer", description: "", parameters: none, permission: "r", ...more, execute });
}
