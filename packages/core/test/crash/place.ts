/** Where processes live and die: a home, a provider that outlives them, and what they leave. */
import * as fs from "node:fs";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, createAgent, defineTool, LocalEnvironment, type OmniMessage, projectPaths } from "@coxswain/core";
import { startWireServer, type WireServer } from "@coxswain/testing";
import { playTraces, watchTraces } from "../../../testing/test/every-trace.ts";
import type { Life } from "./life.ts";
import { diligentModel, type Scenario, textsOf } from "./scenarios.ts";

export interface Place extends AsyncDisposable {
  root: string;
  scenario: Scenario;
  server: WireServer;
  /** What was wrong with a request in the moment in which it came. */
  tooEarly: string[];
}

/** @param from A place whose files are copied. */
export async function openPlace(scenario: Scenario, from?: Place): Promise<Place> {
  const root = await mkdtemp(join(tmpdir(), "coxswain-crash-"));
  if (from === undefined) await mkdir(join(root, "workspace"));
  else await cp(from.root, root, { recursive: true });
  const tooEarly: string[] = [];
  const server = await startWireServer({
    handler: (request, index) => {
      tooEarly.push(
        ...unrecorded(root, scenario, JSON.stringify(request.body), index + (from?.server.requests.length ?? 0)),
      );
      return diligentModel(scenario, request, index);
    },
  });
  await mkdir(join(root, "home", "default_project"), { recursive: true });
  const model = 'provider = "wire", model_id = "test"';
  const entry = `[[models]]\nprovider = "wire"\nmodel_id = "test"\nprotocol = "openai-chat"\nbase_url = "${server.url}/v1"\n`;
  await writeFile(
    join(root, "home", "default_project", "project_config.toml"),
    `default_model = { ${model} }\n${entry}`,
  );
  watchTraces(tracesDir(root));
  const dispose = async (): Promise<void> => {
    await server.close();
    await playTraces(tracesDir(root));
    await rm(root, { recursive: true, force: true, maxRetries: 3 });
  };
  return { root, scenario, server, tooEarly, [Symbol.asyncDispose]: dispose };
}

/** What the Trace does not hold although the request has it. */
function unrecorded(root: string, scenario: Scenario, body: string, requestsBefore: number): string[] {
  const trace = [...traceFiles(root).values()].map((bytes) => bytes.toString("utf8")).join("");
  const begun = trace.split('"type":"request_begin"').length - 1;
  const texts = textsOf(scenario).filter((text) => body.includes(text) && !trace.includes(text));
  return [...texts, ...(begun > requestsBefore ? [] : [`${begun} request_begin at request ${requestsBefore + 1}`])];
}

export function tracesDir(root: string): string {
  return projectPaths(join(root, "home"), "default_project", "default_agent").tracesDir;
}

/** By path, oldest context first. */
export function traceFiles(root: string): Map<string, Buffer> {
  const directory = tracesDir(root);
  if (!fs.existsSync(directory)) return new Map();
  const names = fs.readdirSync(directory, { recursive: true, encoding: "utf8" });
  const paths = names.filter((name) => name.endsWith(".jsonl")).map((name) => join(directory, name));
  return new Map(paths.sort().map((path) => [path, fs.readFileSync(path)]));
}

export function sessionIdOf(root: string): string | undefined {
  const [path] = traceFiles(root).keys();
  return path === undefined ? undefined : /(session-[^/]*)_\d+\.jsonl$/.exec(path)?.[1];
}

/** The records of all whole lines. */
export function recordsIn(files: ReadonlyMap<string, Buffer>): OmniMessage[] {
  return [...files.values()].flatMap((bytes) => {
    const lines = bytes.toString("utf8").split("\n").slice(0, -1);
    return lines.flatMap((line) => parsed(line) ?? []);
  });
}

function parsed(line: string): OmniMessage | undefined {
  try {
    return JSON.parse(line) as OmniMessage;
  } catch {
    return undefined;
  }
}

/** One line for each beginning and each end of a piece of work. */
export function effects(place: Place): string[] {
  const path = join(place.root, "effects");
  return fs.existsSync(path) ? fs.readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
}

/** What a process in this place is told. */
export function lifeIn({ root, scenario }: Place, rest: Partial<Life> = {}): Life {
  return {
    ...scenario.work,
    home: join(root, "home"),
    workspace: join(root, "workspace"),
    effectsFile: join(root, "effects"),
    deathFile: join(root, "died"),
    momentsFile: join(root, "moments"),
    ...rest,
  };
}

/** As another process would go on: nothing in memory is shared. */
export function survivor({ root, scenario }: Place): Promise<Agent> {
  const work = defineTool({
    name: "work",
    description: "Does one piece of work.",
    parameters: { type: "object", properties: { what: { type: "string" } }, required: ["what"] },
    permission: "rw",
    execute: ({ what }) => {
      fs.appendFileSync(join(root, "effects"), `start ${String(what)}\nend ${String(what)}\n`);
      return `done with ${String(what)}`;
    },
  });
  const { compaction } = scenario.work;
  return createAgent({
    home: join(root, "home"),
    systemPrompt: "test",
    environment: (context) => new LocalEnvironment({ ...context, tools: [work] }),
    compaction,
  });
}
