import { existsSync } from "node:fs";
import { type AgentOptions, createAgent, type CreateSessionOptions, UsageError } from "@coxswain/core";
import { scriptedLLM } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { atEnd, temporaryDirectory } from "./support.ts";

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
    [{ compaction: { maxContextLength: "1k" } }, 'compaction.maxContextLength is "1k", but must be a number of tokens'],
    [{ compaction: { maxSessionTurns: Number.NaN } }, "compaction.maxSessionTurns is NaN, but must be"],
    [{ compaction: { prompt: 5 } }, "compaction.prompt is 5, but must be the text"],
    [{ compaction: { maxContextLenght: 5 } }, 'no option "compaction.maxContextLenght"; did you mean compaction.max'],
    [{ compaction: null }, "compaction is null, but must be an object"],
    [{ tools: {} }, "tools is [object Object], but must be a list of tools"],
    [{ tools: [null] }, "tools[0] is no tool; make it with defineTool"],
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
    expect(existsSync(home)).toBe(false);
  });
});

it("what is undefined among the options is left out", async () => {
  const home = `${await temporaryDirectory()}/home`;
  const compaction = { mode: undefined, maxContextLength: 5 } as unknown as { maxContextLength: number };
  const options = { home, compaction, maxTurns: undefined, agentId: undefined };
  const agent = await createAgent({ ...options, trace: false, model: () => scriptedLLM([]) });
  const session = await agent.createSession({ workspaceDir: undefined });
  atEnd(() => session.dispose());
});
