/** What a request says, whatever its protocol. */
import type { WireProtocol } from "../../llm/support/streams.ts";

export type Fields = Record<string, unknown>;

/** A call and the output that answers it. */
export interface Pair {
  id: string;
  name: string;
  /** Parsed. */
  input: unknown;
  output: unknown;
}

const conversationField: Record<WireProtocol, string> = {
  "openai-chat": "messages",
  "openai-responses": "input",
  anthropic: "messages",
  gemini: "contents",
};

export function conversation(protocol: WireProtocol, body: unknown): Fields[] {
  return list(fields(body)[conversationField[protocol]]);
}

/** What a provider's cache holds, in order, as text without marks: tools, system prompt, and each message. */
export function cached(protocol: WireProtocol, body: unknown): { tools: string; system: string; messages: string[] } {
  const { tools, system, systemInstruction, ...rest } = fields(withoutMarks(body));
  // Here the choice among the tools stands before the messages.
  const choice = protocol === "anthropic" ? rest["tool_choice"] : undefined;
  return {
    tools: JSON.stringify(tools),
    system: JSON.stringify([system, systemInstruction, choice]),
    messages: conversation(protocol, withoutMarks(body)).map((message) => JSON.stringify(message)),
  };
}

/** Calls in the order in which they were made, each with what answers it. Throws where they do not fit together. */
export function pairs(protocol: WireProtocol, body: unknown): Pair[] {
  const steps = conversation(protocol, body).flatMap((message) => readers[protocol](message));
  const found: Pair[] = [];
  let open: Call[] = [];
  let answered = 0;
  for (const step of steps) {
    const next = open[answered];
    if ("output" in step) {
      if (next?.id !== step.id) throw new Error(`output of ${step.id} where that of ${String(next?.id)} belongs`);
      found.push({ ...next, output: step.output });
      answered += 1;
    } else if ("name" in step && answered === 0) open.push(step);
    else if (next !== undefined) throw new Error(`something stands between ${next.id} and its output`);
    else {
      open = "name" in step ? [step] : [];
      answered = 0;
    }
  }
  if (open[answered] !== undefined) throw new Error(`${String(open[answered]?.id)} has no output`);
  return found;
}

type Call = Omit<Pair, "output">;
type Output = Pick<Pair, "id" | "output">;
type Step = Call | Output | { other: true };

const other: Step = { other: true };

const readers: Record<WireProtocol, (message: Fields) => Step[]> = {
  "openai-chat"({ role, content, tool_call_id: id, tool_calls: calls }) {
    if (role === "tool") return [{ id: String(id), output: content }];
    const made = list(calls).map((call) => {
      const { name, arguments: text } = fields(call["function"]);
      return { id: String(call["id"]), name: String(name), input: parse(text) };
    });
    return made.length > 0 ? made : [other];
  },
  "openai-responses"({ type, call_id: id, name, arguments: text, output }) {
    if (type === "function_call") return [{ id: String(id), name: String(name), input: parse(text) }];
    return type === "function_call_output" ? [{ id: String(id), output }] : [other];
  },
  anthropic: ({ content }) =>
    list(content).map(({ type, id, name, input, tool_use_id: answers, content: output }) => {
      if (type === "tool_use") return { id: String(id), name: String(name), input };
      return type === "tool_result" ? { id: String(answers), output } : other;
    }),
  gemini: ({ parts }) =>
    list(parts).map(({ functionCall, functionResponse }) => {
      if (functionCall !== undefined) {
        const { id, name, args } = fields(functionCall);
        return { id: String(id), name: String(name), input: args };
      }
      if (functionResponse === undefined) return other;
      const { id, response } = fields(functionResponse);
      return { id: String(id), output: fields(response)["content"] };
    }),
};

export function fields(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`no object: ${JSON.stringify(value)}`);
  }
  return value as Fields;
}

export function list(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fields) : [];
}

function parse(text: unknown): unknown {
  return JSON.parse(String(text));
}

function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => name !== "cache_control");
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutMarks(inner)]));
}
