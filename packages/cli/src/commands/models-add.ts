/** `cox models add`: a model in the configuration, with its key if it needs one. */
import {
  ConfigError,
  type KeyOrigin,
  keyOrigin,
  loadProjectConfig,
  type ModelChange,
  type ModelEdit,
  type ModelEntry,
  type ModelName,
  type ModelProtocol,
  modelProtocols,
  planModel,
  setModel,
} from "@coxswain/core";
import { askSecret } from "../ask-secret.ts";
import { CliUsageError, exitCodes } from "../exit-code.ts";
import { modelArguments, modelWords } from "../model-words.ts";
import { type ProjectChoice, projectConfigFile } from "../open-session.ts";
import { openTerminal, type Terminal } from "../terminal.ts";

export interface ModelsAddFlags extends ProjectChoice {
  protocol?: string | undefined;
  baseUrl?: string | undefined;
  contextWindow?: number | undefined;
  maxTokens?: number | undefined;
  vision?: boolean | undefined;
  default?: boolean | undefined;
  apiKeyStdin?: boolean | undefined;
  /** Refused. */
  apiKey?: string | boolean | undefined;
}

const maxKeyBytes = 64 * 1024;

/** @returns The exit code. */
export function modelsAdd(name: ModelName, flags: ModelsAddFlags): Promise<number> {
  const terminal = openTerminal();
  return terminal.lifetime.run(() => add(terminal, name, flags));
}

async function add(terminal: Terminal, name: ModelName, flags: ModelsAddFlags): Promise<number> {
  const { lifetime, screen } = terminal;
  lifetime.beforeEnd(() => screen.flush());
  if (flags.apiKey !== undefined) {
    throw new CliUsageError(
      "a key is not taken from the command line, which other users of this machine can read; leave --api-key out to be asked for it, or pipe it in with --api-key-stdin",
    );
  }
  const path = projectConfigFile(flags);
  const change: ModelChange = {
    ...name,
    protocol: protocolOf(flags.protocol),
    baseUrl: flags.baseUrl,
    contextWindow: flags.contextWindow,
    maxTokens: flags.maxTokens,
    vision: flags.vision,
    asDefault: flags.default === true ? "always" : "when-none",
  };
  const planned = await plan(path, change);
  const isAsked = terminal.canAsk && (flags.apiKeyStdin === true || mayNeedKey(planned));
  if (isAsked) change.apiKey = await keyOfPerson(terminal, name);
  else if (flags.apiKeyStdin === true) change.apiKey = await keyFromInput(terminal);
  if (lifetime.signal.aborted) return exitCodes.interrupted;
  const edit = await setModel(path, change);
  const key = keyOrigin({ ...planned, apiKey: change.apiKey ?? planned.apiKey }, process.env);
  for (const line of summary(path, name, edit, key)) await screen.answer(`${line}\n`);
  return exitCodes.done;
}

async function keyOfPerson({ screen, keyboard, lifetime }: Terminal, name: ModelName): Promise<string | undefined> {
  const question = `key of ${modelWords(name)} (not shown; Enter alone: none):`;
  const key = await askSecret(question, { screen, keyboard, signal: lifetime.signal });
  return key === "" ? undefined : key;
}

function summary(path: string, name: ModelName, edit: ModelEdit, key: KeyOrigin): string[] {
  const lines = [`${edit.isNew ? "added" : "changed"} ${modelWords(name)} in ${path}`];
  if (edit.isDefault) lines.push("it is the default model");
  if (edit.droppedKey)
    lines.push("the stored key was for the old address and is gone; give it again if it is for the new one");
  if (key.from === "file") lines.push("its key is in that file, which only you can read");
  if (key.from === "environment") lines.push(`its key comes from the environment variable ${key.variable}`);
  if (key.from === "missing") {
    lines.push(
      `it has no key yet; set ${key.variable}, or: cox models add ${modelArguments(name)} --api-key-stdin < key-file`,
    );
  }
  return [...lines, `next: cox models test ${modelArguments(name)}`];
}

function protocolOf(given: string | undefined): ModelProtocol | undefined {
  if (given === undefined) return undefined;
  const protocol = modelProtocols.find((one) => one === given);
  if (protocol !== undefined) return protocol;
  throw new CliUsageError(`--protocol is ${JSON.stringify(given)}, but must be one of ${modelProtocols.join(", ")}`);
}

/** What there will be, so that nobody is asked for the key of a model that is refused. */
async function plan(path: string, change: ModelChange): Promise<ModelEntry> {
  const config = await loadProjectConfig(path);
  try {
    return planModel(config, change).entry;
  } catch (error) {
    if (!(error instanceof ConfigError) || error.code !== "missing_value") throw error;
    throw new CliUsageError(`${error.message}; give it with --protocol and --base-url`);
  }
}

/** Where it cannot be known whether a key is needed, a person is asked. */
function mayNeedKey(entry: ModelEntry): boolean {
  const { from } = keyOrigin(entry, process.env);
  return from === "missing" || from === "unknown";
}

async function keyFromInput({ stdin, lifetime }: Terminal): Promise<string> {
  const stop = (): void => void stdin.destroy();
  lifetime.signal.addEventListener("abort", stop);
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stdin) {
      const bytes = Buffer.from(chunk as Uint8Array);
      length += bytes.length;
      if (length > maxKeyBytes) throw new CliUsageError("standard input is too long to be a key");
      chunks.push(bytes);
    }
  } catch (error) {
    if (!lifetime.signal.aborted) throw error;
  }
  const key = Buffer.concat(chunks).toString("utf8").trim();
  if (key === "" && !lifetime.signal.aborted) {
    throw new CliUsageError(
      "there is no key on standard input; pipe it in, such as: cox models add … --api-key-stdin < key-file",
    );
  }
  return key;
}
