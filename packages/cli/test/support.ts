/** The real command as a child process, in directories of its own. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type OmniMessage, parseOmniMessage } from "@coxswain/protocol";
import { inject } from "vitest";
import { playTraces, watchTraces } from "../../testing/test/every-trace.ts";
import type {} from "./one-file-command.ts";

export const program = inject("program") ?? fileURLToPath(new URL("../bin/cox.js", import.meta.url));

export interface Place extends AsyncDisposable {
  root: string;
  home: string;
  workspace: string;
  /** A file in the root. */
  write(name: string, text: string): Promise<string>;
  /** `project_config.toml` with one model at this address, without a key. */
  configure(baseUrl: string): Promise<void>;
  traceFiles(): Promise<string[]>;
}

export async function createPlace(): Promise<Place> {
  const root = await mkdtemp(join(tmpdir(), "cox-test-"));
  const home = join(root, "home");
  const workspace = join(root, "workspace");
  await mkdir(workspace);
  const write = async (name: string, text: string): Promise<string> => {
    const path = join(root, name);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, text);
    return path;
  };
  const traces = join(home, "default_project/agents/default_agent/traces");
  watchTraces(traces);
  return {
    root,
    home,
    workspace,
    write,
    configure: async (baseUrl) => {
      const model = 'provider = "local", model_id = "m"';
      const entry = `[[models]]\nprovider = "local"\nmodel_id = "m"\nprotocol = "openai-chat"\nbase_url = "${baseUrl}"\n`;
      await write("home/default_project/project_config.toml", `default_model = { ${model} }\n${entry}`);
    },
    traceFiles: async () => {
      const names = await readdir(traces, { recursive: true }).catch(() => []);
      return names.filter((name) => name.endsWith(".jsonl")).map((name) => join(traces, name));
    },
    [Symbol.asyncDispose]: async () => {
      await playTraces(traces);
      await rm(root, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

export interface CoxOptions {
  place: Place;
  /** Default: nothing, and its end. */
  stdin?: string | { open: true } | undefined;
  env?: Record<string, string> | undefined;
  /** For Node itself. */
  nodeArgs?: string[] | undefined;
}

export interface CoxResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** Nothing of the tests' own environment changes what the command does. */
export function startCox(args: string[], options: CoxOptions): ChildProcessWithoutNullStreams {
  const { place, nodeArgs = [] } = options;
  const child = spawn(process.execPath, [...nodeArgs, program, ...args], {
    cwd: place.workspace,
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: place.root,
      TMPDIR: place.root,
      COXSWAIN_HOME: place.home,
      ...options.env,
    },
  });
  // A command that does not read its input closes it.
  child.stdin.on("error", () => undefined);
  if (typeof options.stdin !== "object") child.stdin.end(options.stdin ?? "");
  return child;
}

export async function ended(child: ChildProcessWithoutNullStreams): Promise<CoxResult> {
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return { code, signal, stdout, stderr };
}

export function cox(args: string[], options: CoxOptions): Promise<CoxResult> {
  return ended(startCox(args, options));
}

/** Resolves once the stream has said it. */
export function said(stream: NodeJS.ReadableStream, words: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = "";
    stream.on("data", (chunk: Buffer | string) => {
      text += chunk.toString();
      if (text.includes(words)) resolve();
    });
    stream.once("end", () => reject(new Error(`it ended without ${JSON.stringify(words)}:\n${text}`)));
  });
}

export function parseLines(text: string): OmniMessage[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => parseOmniMessage(JSON.parse(line)));
}

export async function readTrace(path: string): Promise<OmniMessage[]> {
  return parseLines(await readFile(path, "utf8"));
}

/** Resolves once the process is gone. A process that is a zombie is gone. */
export async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return !/^\d+ \(.*\) Z/.test(stat);
}

interface ChatReply {
  text?: string;
  calls?: { id: string; name: string; arguments: string }[];
}

/** A chat-completions stream. */
export function chatReply({ text, calls = [] }: ChatReply): string {
  const chunk = (choice: object, more: object = {}): string =>
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [choice], ...more })}\n\n`;
  const deltas: object[] = text === undefined ? [] : Array.from(text).map((content) => ({ content }));
  for (const [index, { id, name, arguments: args }] of calls.entries()) {
    deltas.push({ tool_calls: [{ index, id, type: "function", function: { name, arguments: args } }] });
  }
  const finish = calls.length > 0 ? "tool_calls" : "stop";
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const body = deltas.map((delta) => chunk({ index: 0, delta, finish_reason: null })).join("");
  return `${body}${chunk({ index: 0, delta: {}, finish_reason: finish }, { usage })}data: [DONE]\n\n`;
}
