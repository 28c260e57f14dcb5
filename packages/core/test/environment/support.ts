import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  isPayload,
  type OmniMessage,
  type ToolCallOutputPayload,
  type ToolCallPayload,
  toolCall,
} from "@coxswain/protocol";
import { onTestFinished } from "vitest";
import { builtInTools } from "../../src/environment/built-in-tools.ts";
import { LocalEnvironment, type LocalEnvironmentOptions } from "../../src/environment/local-environment.ts";
import { checkForLeaks, watchSignal } from "./support/no-leaks.ts";

checkForLeaks();

export interface World {
  root: string;
  workspaceDir: string;
  scratchpadDir: string;
  environment: LocalEnvironment;
}

/** A Workspace `ws` and a scratchpad beside it, removed with all processes when the test ends. */
export async function createWorld(
  options: Partial<LocalEnvironmentOptions> | ((root: string) => Partial<LocalEnvironmentOptions>) = {},
): Promise<World> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "environment-test-")));
  let environment: LocalEnvironment | undefined;
  onTestFinished(async () => {
    await environment?.dispose();
    await rm(root, { recursive: true, force: true });
  });
  const workspaceDir = join(root, "ws");
  const scratchpadDir = join(root, "scratchpad");
  await mkdir(workspaceDir);
  const given = typeof options === "function" ? options(root) : options;
  environment = new LocalEnvironment({ workspaceDir, scratchpadDir, tools: builtInTools(), ...given });
  return { root, workspaceDir, scratchpadDir, environment };
}

let callCount = 0;

/** @param args An object, or the arguments as a model wrote them. */
export function callOf(name: string, args: unknown): OmniMessage<ToolCallPayload> {
  const text = typeof args === "string" ? args : JSON.stringify(args);
  return toolCall({ name, arguments: text, toolCallId: `call_${++callCount}` });
}

export interface Ran {
  messages: OmniMessage[];
  output: string;
  payload: ToolCallOutputPayload;
  status: string;
  /** The live view, joined. */
  view: string;
}

export async function run(
  environment: LocalEnvironment,
  name: string,
  args: unknown,
  options: { signal?: AbortSignal; onMessage?: (message: OmniMessage) => void } = {},
): Promise<Ran> {
  watchSignal(options.signal);
  const messages: OmniMessage[] = [];
  const request = { toolCall: callOf(name, args), signal: options.signal };
  for await (const message of environment.executeTool(request)) {
    messages.push(message);
    options.onMessage?.(message);
  }
  const outputs = messages.filter((message) => isPayload(message, "tool_call_output"));
  const last = messages.at(-1);
  if (outputs.length !== 1 || last === undefined || !isPayload(last, "tool_call_output")) {
    throw new Error(`expected exactly one output, at the end, got ${JSON.stringify(messages.slice(-3))}`);
  }
  const view = messages
    .map((message) => (isPayload(message, "partial_tool_call_output") ? message.payload.output : ""))
    .join("");
  return {
    messages,
    output: last.payload.output,
    payload: last.payload,
    status: last.payload.stop_reason ?? "completed",
    view,
  };
}

/** A zombie, whose parent has not asked for its end yet, is not alive. */
export function isAlive(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return stdout.trim() !== "" && !stdout.trim().startsWith("Z");
}

/** What a command writes of itself, once the whole line stands there. */
export async function pidIn(path: string): Promise<number> {
  for (;;) {
    const text = await readFile(path, "utf8").catch(() => "");
    if (text.endsWith("\n")) return Number(text);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Fails by the time-out of the test when it lives on. */
export async function untilGone(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setImmediate(resolve));
}

/** Two surrogates that belong together are one character; one alone is none. */
export function hasLoneSurrogate(text: string): boolean {
  return /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(text);
}
