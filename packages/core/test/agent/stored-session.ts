import {
  createAgent,
  type Agent,
  type AgentOptions,
  type LLMInterface,
  type OmniMessage,
  projectPaths,
} from "@coxswain/core";
import { fakeEnvironment, scriptedLLM, type ScriptedLLM, type ScriptedStep } from "@coxswain/testing";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { notPlayed, playTraces } from "../../../testing/test/every-trace.ts";
import { atEnd, temporaryDirectory } from "./support.ts";

/** An agent with files for Traces and a model that says what it is told. */
export interface StoredPlace {
  home: string;
  workspace: string;
  tracesDir: string;
  /** Opened so far, newest last. */
  models: ScriptedLLM[];
  agent(): Promise<Agent>;
}

/** @param contexts What each model context says that is opened, in order. */
export async function storedPlace(
  contexts: readonly (readonly ScriptedStep[])[],
  options: AgentOptions = {},
): Promise<StoredPlace> {
  const root = await temporaryDirectory();
  const home = join(root, "home");
  const workspace = join(root, "workspace");
  await mkdir(workspace);
  const models: ScriptedLLM[] = [];
  const model = (): LLMInterface => {
    const llm = scriptedLLM(contexts[models.length] ?? []);
    models.push(llm);
    return llm;
  };
  const { tracesDir } = projectPaths(home, "default_project", "default_agent");
  atEnd(() => playTraces(tracesDir));
  const environment = () => fakeEnvironment({ look: ({ at }) => `seen ${String(at)}` });
  return {
    home,
    workspace,
    tracesDir,
    models,
    agent: () => createAgent({ home, systemPrompt: "test", model, environment, ...options }),
  };
}

/** Every file below a directory of Traces, by name. */
export async function traceFiles(tracesDir: string): Promise<Map<string, string>> {
  const names = existsSync(tracesDir) ? await readdir(tracesDir, { recursive: true }) : [];
  const files = names.filter((name) => name.endsWith(".jsonl")).sort();
  return new Map(
    await Promise.all(files.map(async (name) => [name, await readFile(join(tracesDir, name), "utf8")] as const)),
  );
}

export function recordsOf(text: string): OmniMessage[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as OmniMessage);
}

/** Puts a file of this directory's `traces` where the Session's model context is looked for. */
export async function plant(place: StoredPlace, name: string, sessionId: string, context = 1): Promise<void> {
  notPlayed(sessionId, "an older engine wrote its beginning, without a list of tools");
  const text = await readFile(new URL(`traces/${name}.jsonl`, import.meta.url), "utf8");
  const folder = join(place.tracesDir, sessionId.slice("session-".length, "session-".length + 10));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${sessionId}_${String(context).padStart(3, "0")}.jsonl`);
  await writeFile(path, text.replaceAll("${WORKSPACE}", place.workspace), { mode: 0o600 });
}
