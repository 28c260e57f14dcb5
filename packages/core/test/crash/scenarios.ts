/** What a process is at when it dies, and the provider that it works with. */
import type { WireExchange, WireRequest } from "@coxswain/testing";
import { answer, answerBody, type Block } from "../llm/support/streams.ts";

/** What the process is told; see `child.mjs`. */
export interface Work {
  /** One Task each. */
  texts: readonly string[];
  /** Said once, when the reader has the first message of this kind. */
  steering?: { at: string; text: string };
  /** The first Task is interrupted at the first message of this kind. */
  interruptAt?: string;
  /** A piece of work that ends with its signal alone. */
  lingers?: string;
  isSlowToApprove?: boolean;
  /** Also writes of one line are moments to die in, not only those of several. */
  tearsSingleLines?: boolean;
  compaction?: { maxContextLength: number; prompt: string };
}

export interface Scenario {
  work: Work;
  /** Pieces of work, by turns: what the model calls for until it is told of each. */
  turns: readonly (readonly string[])[];
  /** Answers of this process's requests that break, by index. */
  broken?: readonly number[];
  /** A request whose input does not fit, by index. */
  refused?: number;
  /** Where an earlier process has died: what is counted then are the moments of its resume. */
  diedAt?: Moment;
}

export interface Moment {
  where: string;
  /** From 1. */
  time: number;
}

/** The name of a moment at which a line is half written. */
export const insideWrite = "inside a write";

const summaryPrompt = "Sum it all up.";
const small = { maxContextLength: 1_000, prompt: summaryPrompt };

export const scenarios = {
  "runs two calls at once and answers": {
    work: { texts: ["the first task"], tearsSingleLines: true },
    turns: [["alpha", "bravo"]],
  },
  "connects again in the middle": {
    work: { texts: ["the first task"] },
    turns: [["alpha"], ["bravo"]],
    broken: [1],
  },
  "makes its context small in the middle of a Task": {
    work: { texts: ["the first task"], compaction: small },
    turns: [["alpha", "bravo"], ["charlie"]],
  },
  "connects again while it makes its context small": {
    work: { texts: ["the first task"], compaction: small },
    turns: [["alpha"], ["bravo"]],
    broken: [1],
  },
  "sends what did not fit once more": {
    work: { texts: ["the first task", "the second task"], compaction: { ...small, maxContextLength: 100_000 } },
    turns: [["alpha"]],
    refused: 2,
  },
  "is steered in the middle of a Task": {
    work: { texts: ["the first task"], steering: { at: "tool_call_output", text: "and turn left" } },
    turns: [["alpha"], ["bravo"]],
  },
  "waits for an approval": {
    work: { texts: ["the first task"], isSlowToApprove: true },
    turns: [["alpha", "bravo"]],
  },
  "was just interrupted and goes on": {
    work: { texts: ["the first task", "the second task"], interruptAt: "tool_call_output", lingers: "bravo" },
    turns: [["alpha", "bravo"], ["charlie"]],
  },
  "goes on where another died with a call running": {
    work: { texts: ["the second task"], tearsSingleLines: true },
    turns: [["alpha", "bravo"]],
    diedAt: { where: "after the start of bravo", time: 1 },
  },
  "goes on where another died in a compaction": {
    work: { texts: ["the second task"], compaction: small, tearsSingleLines: true },
    turns: [["alpha"], ["bravo"]],
    diedAt: { where: "after the write of request_begin", time: 2 },
  },
} satisfies Record<string, Scenario>;

const tooLong: WireExchange = {
  status: 400,
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ error: { message: "prompt is too long", code: "context_length_exceeded" } }),
};

interface ChatBody {
  messages: { role: string; content: unknown }[];
}

/**
 * Calls for each piece of work that it has not been told of: whoever forgets that something was done has it done twice.
 *
 * @param index Of the request.
 */
export function diligentModel(scenario: Scenario, request: WireRequest, index: number): WireExchange {
  const { messages } = request.body as ChatBody;
  const told = JSON.stringify(messages);
  const usage = { input: told.includes("[context_summary]") ? 100 : 2_000, output: 10 };
  if (scenario.broken?.includes(index) === true) {
    return { body: answer("openai-chat", [{ text: "I was about to" }]).join(""), end: "destroy" };
  }
  if (scenario.refused === index) return tooLong;
  if (JSON.stringify(messages.at(-1)).includes(summaryPrompt)) {
    return { body: answerBody("openai-chat", [{ text: `[summary]${known(scenario, told)}[/summary]` }]) };
  }
  const open = scenario.turns
    .map((turn) => turn.filter((what) => !told.includes(what)))
    .find((turn) => turn.length > 0);
  if (open === undefined) return { body: answerBody("openai-chat", [{ text: "All finished." }]) };
  const calls = open.map(
    (what): Block => ({ call: { id: `call_${what}`, name: "work", arguments: JSON.stringify({ what }) } }),
  );
  return { body: answerBody("openai-chat", [{ text: "To work." }, ...calls], { reason: "calls", usage }) };
}

export function textsOf({ work }: Scenario): string[] {
  return [...work.texts, "the first task", work.steering?.text ?? []].flat();
}

/** Everything that a model can know of it, in its words. */
function known(scenario: Scenario, told: string): string {
  return [...textsOf(scenario), ...scenario.turns.flat()].filter((word) => told.includes(word)).join(", ");
}
