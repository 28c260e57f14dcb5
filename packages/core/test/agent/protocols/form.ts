/** What would make a provider refuse a request, whatever it says. */
import type { WireProtocol } from "../../llm/support/streams.ts";
import { conversation, type Fields, fields, list, pairs } from "./reading.ts";

/** One line for each fault. */
export function formFaults(protocol: WireProtocol, body: unknown): string[] {
  const messages = conversation(protocol, body);
  const faults = messages.flatMap((message) => checks[protocol](message));
  try {
    pairs(protocol, body);
  } catch (error) {
    faults.push(String(error));
  }
  if (protocol === "anthropic") faults.push(...turnFaults(messages));
  if (protocol === "openai-responses") faults.push(...looseReasoning(messages));
  return faults;
}

/** Both sides speak in turns, and the user begins. */
function turnFaults(messages: readonly Fields[]): string[] {
  return messages.flatMap(({ role }, index) => {
    const isUser = role === "user";
    return isUser === (index % 2 === 0) ? [] : [`message ${index} is of ${String(role)}`];
  });
}

/** Reasoning belongs to what the model says or does next. */
function looseReasoning(items: readonly Fields[]): string[] {
  return items.flatMap(({ type, id }, index) => {
    const next = items[index + 1];
    const goesOn =
      next?.["role"] === "assistant" || next?.["type"] === "function_call" || next?.["type"] === "reasoning";
    return type === "reasoning" && !goesOn ? [`nothing follows ${String(id)}`] : [];
  });
}

const checks: Record<WireProtocol, (message: Fields) => string[]> = {
  "openai-chat"({ role, content, tool_calls: calls }) {
    const isEmpty = content === "" || content === null || (Array.isArray(content) && content.length === 0);
    return isEmpty && role !== "tool" && list(calls).length === 0 ? [`empty message of ${String(role)}`] : [];
  },
  "openai-responses"({ type, role, content, encrypted_content: encrypted }) {
    if (type === "reasoning" && typeof encrypted !== "string") return ["reasoning that is kept nowhere"];
    if (type === "item_reference") return ["a reference to what is not kept"];
    const isEmpty = content === "" || (Array.isArray(content) && content.length === 0);
    return typeof role === "string" && isEmpty ? [`empty message of ${role}`] : [];
  },
  anthropic({ role, content }) {
    const blocks = list(content);
    const faults = blocks.length === 0 ? [`empty message of ${String(role)}`] : [];
    for (const { type, text, signature, data } of blocks) {
      if (type === "text" && String(text).trim() === "") faults.push("empty text");
      if (type === "thinking" && typeof signature !== "string") faults.push("unsigned thinking");
      if (type === "redacted_thinking" && typeof data !== "string") faults.push("redacted thinking without data");
    }
    if (role === "assistant" && /thinking/.test(String(blocks.at(-1)?.["type"]))) faults.push("ends in thinking");
    const firstOther = blocks.findIndex(({ type }) => type !== "tool_result");
    const lastResult = blocks.findLastIndex(({ type }) => type === "tool_result");
    if (firstOther !== -1 && lastResult > firstOther) faults.push("an output behind something else");
    return faults;
  },
  gemini({ role, parts }) {
    const all = list(parts);
    const faults = all.length === 0 ? [`empty content of ${String(role)}`] : [];
    if (all.some(({ text }) => text === "")) faults.push("empty text");
    const [firstCall] = all.filter(({ functionCall }) => functionCall !== undefined);
    if (firstCall !== undefined && typeof firstCall["thoughtSignature"] !== "string") {
      faults.push(`unsigned call of ${String(fields(firstCall["functionCall"])["name"])}`);
    }
    return faults;
  },
};
