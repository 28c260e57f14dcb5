import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AgentOptions, createAgent, type Agent, type OmniMessage, type Session } from "@coxswain/core";
import { startWireServer, type WireExchange, type WireServer } from "@coxswain/testing";
import { afterEach } from "vitest";

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

export async function wire(name: string): Promise<WireExchange> {
  return { body: await readFile(new URL(`../llm/wire/${name}.openai-chat.sse`, import.meta.url)) };
}

export async function temporaryDirectory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "coxswain-test-"));
  atEnd(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A configured home, a Workspace with a.txt and b.txt, and a provider that plays these answers over HTTP. */
export async function open(answers: readonly (string | WireExchange)[], options: AgentOptions = {}): Promise<Place> {
  const root = await temporaryDirectory();
  const home = join(root, "home");
  const workspace = join(root, "workspace");
  await mkdir(workspace);
  for (const name of ["a.txt", "b.txt"]) await writeFile(join(workspace, name), name);
  const exchanges = await Promise.all(
    answers.map((answer) => (typeof answer === "string" ? wire(answer) : Promise.resolve(answer))),
  );
  const server = await startWireServer({ exchanges });
  atEnd(() => server.close());
  await mkdir(join(home, "default_project"), { recursive: true });
  await writeFile(
    join(home, "default_project", "project_config.toml"),
    [
      'default_model = { provider = "wire", model_id = "test" }',
      "[[models]]",
      'provider = "wire"',
      'model_id = "test"',
      'protocol = "openai-chat"',
      `base_url = "${server.url}/v1"`,
      'api_key = "sk-the-secret-key-of-this-test"',
    ].join("\n"),
    { mode: 0o600 },
  );
  const anotherAgent = (): Promise<Agent> => createAgent({ home, systemPrompt: "test", ...options });
  return { home, workspace, server, agent: await anotherAgent(), anotherAgent };
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
