import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type AgentOptions,
  createAgent,
  type Agent,
  type OmniMessage,
  projectPaths,
  type Session,
} from "@coxswain/core";
import { startWireServer, type WireExchange, type WireServer } from "@coxswain/testing";
import { afterEach } from "vitest";
import { playTraces } from "../../../testing/test/every-trace.ts";
import type { WireProtocol } from "../llm/support/streams.ts";

export interface Place {
  home: string;
  workspace: string;
  server: WireServer;
  agent: Agent;
  /** As if another process began: nothing in memory is shared. */
  anotherAgent(): Promise<Agent>;
}

const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

export function atEnd(cleanUp: () => Promise<unknown>): void {
  cleanUps.push(cleanUp);
}

/** What the configuration names. Default: a model of no known provider that speaks chat completions. */
export interface NamedModel {
  provider?: string;
  modelId?: string;
  protocol?: WireProtocol;
  /** Where it is served. Default: the server that plays the answers. */
  serverUrl?: string;
  /** Further lines of its table. */
  settings?: readonly string[];
  /** Names of the built-in tools that are offered. Default: all. */
  builtInTools?: readonly string[];
}

export async function wire(name: string, protocol: WireProtocol = "openai-chat"): Promise<WireExchange> {
  return { body: await readFile(new URL(`../llm/wire/${name}.${protocol}.sse`, import.meta.url)) };
}

export async function temporaryDirectory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "coxswain-test-"));
  atEnd(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A configured home, a Workspace with a.txt and b.txt, and a provider that plays these answers over HTTP. */
export async function open(
  answers: readonly (string | WireExchange)[],
  options: AgentOptions = {},
  model: NamedModel = {},
): Promise<Place> {
  const root = await temporaryDirectory();
  const home = join(root, "home");
  const workspace = join(root, "workspace");
  await mkdir(workspace);
  for (const name of ["a.txt", "b.txt"]) await writeFile(join(workspace, name), name);
  const exchanges = await Promise.all(
    answers.map((answer) => (typeof answer === "string" ? wire(answer, model.protocol) : Promise.resolve(answer))),
  );
  const server = await startWireServer({ exchanges });
  atEnd(() => server.close());
  await configure(home, model, server.url);
  atEnd(() => playTraces(projectPaths(home, "default_project", "default_agent").tracesDir));
  const anotherAgent = (): Promise<Agent> => createAgent({ home, systemPrompt: "test", ...options });
  return { home, workspace, server, agent: await anotherAgent(), anotherAgent };
}

/** Writes the configuration as a user would. */
async function configure(home: string, model: NamedModel, playedAt: string): Promise<void> {
  const { provider = "wire", modelId = "test", protocol = "openai-chat", serverUrl = playedAt } = model;
  const projectDir = join(home, "default_project");
  await mkdir(projectDir, { recursive: true });
  await writeFile(
    join(projectDir, "project_config.toml"),
    [
      `default_model = { provider = "${provider}", model_id = "${modelId}" }`,
      "[[models]]",
      `provider = "${provider}"`,
      `model_id = "${modelId}"`,
      `protocol = "${protocol}"`,
      `base_url = "${serverUrl}${protocol.startsWith("openai-") ? "/v1" : ""}"`,
      'api_key = "sk-the-secret-key-of-this-test"',
      ...(model.settings ?? []),
    ].join("\n"),
    { mode: 0o600 },
  );
  if (model.builtInTools === undefined) return;
  const stateDir = join(projectDir, "agents", "default_agent", "agent_state");
  await mkdir(stateDir, { recursive: true });
  await writeFile(join(stateDir, "system_config.yaml"), `tools: [${model.builtInTools.join(", ")}]\n`);
}

export async function newSession({ agent, workspace }: Place): Promise<Session> {
  const session = await agent.createSession({ workspaceDir: workspace });
  atEnd(() => session.dispose());
  return session;
}

export async function resume(place: Place, id: string): Promise<Session> {
  const session = await (await place.anotherAgent()).resumeSession(id);
  atEnd(() => session.dispose());
  return session;
}

interface SentMessage {
  role: string;
  content: unknown;
  tool_call_id?: string;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
}

/** The messages of a request as the provider received them, without the system prompt. */
export function sentMessages(place: Place, index: number): SentMessage[] {
  const body = place.server.requests[index]?.body as { messages: SentMessage[] } | undefined;
  if (body === undefined) throw new Error(`request ${index} did not come`);
  return body.messages.filter(({ role }) => role !== "system");
}

export async function collect(stream: AsyncIterable<OmniMessage>): Promise<OmniMessage[]> {
  const messages: OmniMessage[] = [];
  for await (const message of stream) messages.push(message);
  return messages;
}
