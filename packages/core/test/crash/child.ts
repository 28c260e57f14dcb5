/** A process that works on Tasks and kills itself at one of its moments. */
import * as fs from "node:fs";
import {
  createAgent,
  defineTool,
  FileTraceStore,
  LocalEnvironment,
  projectPaths,
  type Session,
  systemClock,
  userText,
} from "@coxswain/core";
import { nodeDisk, type TraceDisk } from "../../src/trace/trace-disk.ts";
import type { Life } from "./life.ts";
import { insideWrite } from "./scenarios.ts";

const life = JSON.parse(process.argv[2] ?? "") as Life;

const newline = 0x0a;

let moments = 0;
let timesThere = 0;
let isChanged = true;

/** Something has left this process: whoever comes after it can tell. */
function changed(where: string): void {
  isChanged = true;
  moment(where);
}

/** Time to die, perhaps. Two moments between which nothing has changed are one and the same to whoever comes after. */
function moment(where: string): void {
  if (!isChanged) return;
  isChanged = false;
  moments += 1;
  if (where === life.dieWhere?.where) timesThere += 1;
  if (moments === life.dieAt || timesThere === life.dieWhere?.time) die(where);
}

function die(where: string): void {
  fs.writeFileSync(life.deathFile, where);
  process.kill(process.pid, "SIGKILL");
}

/** The moments inside a write: one for each line, when a half of it is in the file. */
function tear(descriptor: number, bytes: Uint8Array, offset: number, length: number): void {
  const ends = newlinesIn(bytes.subarray(offset, offset + length));
  if (ends.length === 1 && life.tearsSingleLines !== true) return;
  for (const [index, end] of ends.entries()) {
    moments += 1;
    if (moments !== life.dieAt) continue;
    const start = index === 0 ? 0 : (ends[index - 1] ?? 0) + 1;
    nodeDisk.writeSync(descriptor, bytes, offset, (start + end) >> 1);
    die(insideWrite);
  }
}

function newlinesIn(bytes: Uint8Array): number[] {
  const found: number[] = [];
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) found.push(at);
  return found;
}

const disk: TraceDisk = {
  ...nodeDisk,
  writeSync: (descriptor, bytes, offset, length) => {
    moment("before a write");
    tear(descriptor, bytes, offset, length);
    const taken = nodeDisk.writeSync(descriptor, bytes, offset, length);
    changed(`after the write of ${typesIn(bytes.subarray(offset, offset + length))}`);
    return taken;
  },
  write: async (descriptor, bytes, offset, length) => {
    moment("before a write");
    tear(descriptor, bytes, offset, length);
    const taken = await nodeDisk.write(descriptor, bytes, offset, length);
    changed(`after the write of ${typesIn(bytes.subarray(offset, offset + length))}`);
    return taken;
  },
};

function typesIn(bytes: Uint8Array): string {
  const types = Buffer.from(bytes)
    .toString("utf8")
    .matchAll(/^\{.*?"payload":\{(?:"type":"(\w+)")?/gm);
  return Array.from(types, ([, type]) => type ?? "session_meta").join(", ");
}

const send = globalThis.fetch;
globalThis.fetch = async (...request) => {
  moment("before a request");
  const response = await send(...request);
  changed("after the head of an answer");
  return response;
};

const sleep = systemClock.sleep.bind(systemClock);
systemClock.sleep = async (ms, signal) => {
  // Waits before another attempt pass quickly; time limits never do.
  const isWait = ms >= 250 && ms <= 30_000;
  if (isWait) changed("before a wait");
  await sleep(isWait ? 1 : ms, signal);
  if (isWait) changed("after a wait");
};

const work = defineTool<{ what: string }>({
  name: "work",
  description: "Does one piece of work.",
  parameters: { type: "object", properties: { what: { type: "string" } }, required: ["what"] },
  permission: "rw",
  execute: async ({ what }, { signal }) => {
    fs.appendFileSync(life.effectsFile, `start ${what}\n`);
    changed(`after the start of ${what}`);
    await new Promise((resolve) => {
      if (what === life.lingers) signal.addEventListener("abort", resolve, { once: true });
      else setImmediate(resolve);
    });
    fs.appendFileSync(life.effectsFile, `end ${what}\n`);
    changed(`after the end of ${what}`);
    return `done with ${what}`;
  },
});

async function approve(): Promise<"allow"> {
  if (life.isSlowToApprove === true) {
    changed("while an approval waits");
    await new Promise((resolve) => setImmediate(resolve));
  }
  return "allow";
}

async function say(session: Session, text: string): Promise<void> {
  const controller = new AbortController();
  let { steering } = life;
  for await (const { payload } of session.run([userText(text)], { approve, signal: controller.signal })) {
    if (steering !== undefined && payload.type === steering.at) {
      session.steer(steering.text);
      steering = undefined;
    }
    if (payload.type === life.interruptAt && text === life.texts[0]) controller.abort();
  }
}

const { tracesDir } = projectPaths(life.home, "default_project", "default_agent");
const agent = await createAgent({
  home: life.home,
  systemPrompt: "test",
  // Of its own, so that not every life looks through all processes of the machine for orphans.
  environment: (context) => new LocalEnvironment({ ...context, tools: [work] }),
  compaction: life.compaction,
  trace: new FileTraceStore({ tracesDir, disk }),
});
const session =
  life.sessionId === undefined
    ? await agent.createSession({ workspaceDir: life.workspace })
    : await agent.resumeSession(life.sessionId);
for (const text of life.texts) await say(session, text);
await session.dispose();
fs.writeFileSync(life.momentsFile, String(moments));
process.exit(0);
