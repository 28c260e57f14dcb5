import { existsSync } from "node:fs";
import { isPayload, userText } from "@coxswain/protocol";
import {
  type AgentOptions,
  createAgent,
  type CreateSessionOptions,
  defineTool,
  type ExportOptions,
  type ForkOptions,
  type ModelContext,
  type Tool,
  UsageError,
} from "@coxswain/core";
import { scriptedLLM } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { atEnd, collect, temporaryDirectory } from "./support.ts";

async function refused(attempt: Promise<unknown>): Promise<string> {
  const error: unknown = await attempt.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(UsageError);
  return error instanceof Error ? error.message : "";
}

describe("options that are none are refused before anything is written", () => {
  it.each<[options: unknown, words: string]>([
    [{ maxTurns: 0 }, "maxTurns is 0, but must be a whole number, 1 or more, or -1 for no cap"],
    [{ maxTurns: Number.NaN }, "maxTurns is NaN, but must be"],
    [{ maxTurns: "7" }, 'maxTurns is "7", but must be'],
    [{ maxturns: 7 }, 'createAgent has no option "maxturns"; did you mean maxTurns?'],
    [{ constructor: 7 }, 'createAgent has no option "constructor"; there are agentId, projectId, home, model'],
    [{ compaction: { mode: "sumarize" } }, 'compaction.mode is "sumarize", but must be one of summarize, discard'],
    [{ compaction: { maxContextLength: "1k" } }, 'compaction.maxContextLength is "1k", but must be a whole number'],
    [{ compaction: { maxSessionTurns: Number.NaN } }, "compaction.maxSessionTurns is NaN, but must be"],
    [
      { compaction: { maxContextLength: 0.5 } },
      "compaction.maxContextLength is 0.5, but must be a whole number of tokens",
    ],
    [
      { compaction: { maxContextLength: Number.NaN } },
      "compaction.maxContextLength is NaN, but must be a whole number",
    ],
    [
      { compaction: { maxSessionTurns: 1.5 } },
      "compaction.maxSessionTurns is 1.5, but must be a whole number of turns",
    ],
    [{ compaction: { prompt: 5 } }, "compaction.prompt is 5, but must be the text"],
    [{ compaction: { maxContextLenght: 5 } }, 'no option "compaction.maxContextLenght"; did you mean compaction.max'],
    [{ compaction: null }, "compaction is null, but must be an object"],
    [{ tools: {} }, "tools is [object Object], but must be a list of tools"],
    [{ tools: [null] }, "tools[0] is no tool; make it with defineTool"],
    [{ tools: [{ definition: { name: "a" } }] }, "tools[0] is no tool; make it with defineTool"],
    [{ model: "gpt" }, 'model is "gpt", but must be a LanguageModelV3 or a function'],
    [{ home: "here" }, 'home is "here", but must be an absolute path'],
    [{ environment: {} }, "environment is [object Object], but must be a function"],
    [{ systemPrompt: 5 }, "systemPrompt is 5, but must be a text"],
    [{ trace: true }, "trace is true, but must be false for none, or a TraceStore"],
    [[], "the options of createAgent must be an object"],
  ])("of an agent: %j", async (options, words) => {
    expect(await refused(createAgent(options as AgentOptions))).toContain(words);
  });

  it("of a Session, and the home stays as it was", async () => {
    const home = `${await temporaryDirectory()}/home`;
    const agent = await createAgent({ home, model: () => scriptedLLM([]) });
    const open = (options: unknown) => refused(agent.createSession(options as CreateSessionOptions));
    expect(await open({ workspace: "/" })).toBe('createSession has no option "workspace"; did you mean workspaceDir?');
    expect(await open({ modelId: 5 })).toBe("modelId is 5, but must be a text");
    expect(await open(null)).toBe("the options of createSession must be an object, not null");
    expect(existsSync(home)).toBe(false);
  });

  it("of a fork and of an export", async () => {
    const agent = await createAgent({ home: await temporaryDirectory(), model: () => scriptedLLM([]) });
    const id = "session-2026-01-01-00-00-00-0a1b2c3d";
    const fork = (options: unknown) => refused(agent.forkSession(id, options as ForkOptions));
    expect(await fork(null)).toBe("the options of forkSession must be an object, not null");
    expect(await fork({ turn: 0 })).toBe("turn is 0, but must be a whole number, 1 or more");
    expect(await fork({ context: "2" })).toBe('context is "2", but must be a whole number, 1 or more');
    expect(await fork({ turns: 2 })).toBe('forkSession has no option "turns"; did you mean turn?');
    const hand = (options: unknown) => refused(agent.exportSession(id, options as ExportOptions));
    expect(await hand(null)).toBe("the options of exportSession must be an object, not null");
    expect(await hand({ media: "no" })).toBe(
      'media is "no", but must be true to keep images and inline data, or false',
    );
    expect(await hand({ fidelity: 1 })).toContain("fidelity is 1, but must be true to keep opaque data of providers");
    expect(await hand({ medai: true })).toBe('exportSession has no option "medai"; there are media, fidelity');
  });

  it("of what the functions among them give", async () => {
    const base = { home: await temporaryDirectory(), trace: false } as const;
    const open = async (options: unknown) =>
      refused((await createAgent({ ...base, ...(options as AgentOptions) })).createSession());
    expect(await open({ model: () => scriptedLLM([]), environment: () => null })).toBe(
      "the function environment gave null, but must give an object with listTools, executeTool and toolPermission",
    );
    expect(await open({ model: () => undefined })).toBe(
      "the function model gave undefined, but must give an object with streamGenerate",
    );
  });
});

it("no limit of a context is 0, any whole number below it, or Infinity", async () => {
  for (const maxContextLength of [0, -1, -5, Number.POSITIVE_INFINITY]) {
    const compaction = { maxContextLength, maxSessionTurns: maxContextLength };
    await createAgent({ home: await temporaryDirectory(), model: () => scriptedLLM([]), compaction });
  }
});

it("what a host changes in its options later changes nothing", async () => {
  const given = { home: await temporaryDirectory(), trace: false as const, systemPrompt: "first", maxTurns: 1 };
  const tools: Tool[] = [];
  const asked: string[][] = [];
  const options = {
    ...given,
    tools,
    model: ({ systemPrompt }: ModelContext) => {
      asked.push([systemPrompt]);
      return scriptedLLM([{ calls: [{ name: "late" }] }, { text: "on" }]);
    },
  };
  const agent = await createAgent(options);
  Object.assign(options, { systemPrompt: "second", maxTurns: 7, model: "none", trace: 5 });
  const execute = (): string => "late";
  tools.push(defineTool({ name: "late", description: "", permission: "r", parameters: { type: "object" }, execute }));
  const session = await agent.createSession();
  atEnd(() => session.dispose());
  const messages = await collect(session.run([userText("go")], { approve: async () => "allow" }));
  expect(asked).toEqual([["first"]]);
  expect(messages.map(({ payload }) => payload)).toContainEqual(
    expect.objectContaining({ text: "[reached max turns (1); stopping]" }),
  );
  const offered = messages.flatMap((message) => (isPayload(message, "tool_list_ready") ? message.payload.tools : []));
  expect(offered.map(({ name }) => name)).not.toContain("late");
});

it("what is undefined among the options is left out", async () => {
  const home = `${await temporaryDirectory()}/home`;
  const compaction = { mode: undefined, maxContextLength: 5 } as unknown as { maxContextLength: number };
  const options = { home, compaction, maxTurns: undefined, agentId: undefined };
  const agent = await createAgent({ ...options, trace: false, model: () => scriptedLLM([]) });
  const session = await agent.createSession({ workspaceDir: undefined });
  atEnd(() => session.dispose());
});
