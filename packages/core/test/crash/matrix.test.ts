import { readFile } from "node:fs/promises";
import { isPayload, type OmniMessage, type Session, TraceError, userText } from "@coxswain/core";
import { FileTraceStore } from "../../src/trace/file-trace-store.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleProgram, live } from "./life.ts";
import {
  effects,
  lifeIn,
  openPlace,
  type Place,
  recordsIn,
  sessionIdOf,
  survivor,
  traceFiles,
  tracesDir,
} from "./place.ts";
import { insideWrite, type Scenario, scenarios, textsOf } from "./scenarios.ts";

/** As many processes live at a time. */
const processes = 2;
const timeoutMs = 300_000;
/** `npm test` dies at every eleventh moment, `npm run test:crash` at each. */
const step = Number(process.env["CRASH_STEP"] ?? 11);

let program: Awaited<ReturnType<typeof bundleProgram>>;

beforeAll(async () => {
  program = await bundleProgram();
}, timeoutMs);

afterAll(() => program[Symbol.asyncDispose]());

describe("a process that is killed at any moment while it", () => {
  it.each(Object.entries(scenarios))(
    "%s leaves everything that was said and done to the next one",
    async (_, scenario: Scenario) => {
      await using base = await firstLife(scenario);
      const counted = await momentsOfLife(scenario, base);
      let last = counted;
      let next = 1;
      let deaths = 0;
      const work = async (): Promise<void> => {
        while (next <= last) {
          const moment = next;
          next += step;
          const isOver = await dieAndGoOn(scenario, base, moment);
          if (isOver) continue;
          deaths += 1;
          // A life may have a moment more than the one that was counted.
          last = Math.max(last, moment + 1);
        }
      };
      await Promise.all(Array.from({ length: processes }, work));
      console.log(`${deaths} deaths, ${counted} moments in a life without one`);
      expect(deaths * step).toBeGreaterThanOrEqual(12);
    },
    timeoutMs,
  );
});

/** Of scenarios that begin with a resume: what the process left that died before. */
async function firstLife(scenario: Scenario): Promise<Place> {
  const place = await openPlace(scenario);
  if (scenario.diedAt !== undefined) {
    const where = await live(program.path, lifeIn(place, { texts: ["the first task"], dieWhere: scenario.diedAt }));
    expect(where).toBe(scenario.diedAt.where);
  }
  return place;
}

/** How many there are without a death: writes that happen to meet make it one less or more. */
async function momentsOfLife(scenario: Scenario, base: Place): Promise<number> {
  await using place = await openPlace(scenario, scenario.diedAt === undefined ? undefined : base);
  const life = lifeIn(place, { sessionId: sessionIdOf(place.root) });
  expect(await live(program.path, life)).toBeUndefined();
  return Number(await readFile(life.momentsFile, "utf8"));
}

/** @returns Whether the process came to its end before that moment. */
async function dieAndGoOn(scenario: Scenario, base: Place, moment: number): Promise<boolean> {
  const isResume = scenario.diedAt !== undefined;
  await using place = await openPlace(scenario, isResume ? base : undefined);
  const sessionId = sessionIdOf(place.root);
  const deaths = [await live(program.path, lifeIn(place, { dieAt: moment, sessionId }))];
  if (deaths[0] === undefined) return true;
  // One that finds the work of one that was killed over the work of one that was killed.
  if (isResume) deaths.push(await live(program.path, lifeIn(place, { dieAt: 1 + (moment % 8), sessionId })));
  try {
    await expectGoesOn(place, deaths);
  } catch (error) {
    throw new Error(`moment ${moment} (${deaths.join("; then ")}): ${String(error)}`, { cause: error });
  }
  return false;
}

async function expectGoesOn(place: Place, deaths: readonly (string | undefined)[]): Promise<void> {
  expect(place.tooEarly).toEqual([]);
  const left = traceFiles(place.root);
  const records = recordsIn(left);
  expectAllowed(effects(place), records);
  const id = sessionIdOf(place.root);
  if (id === undefined) return expect([effects(place), place.server.requests]).toEqual([[], []]);
  const agent = await survivor(place);
  if (records.length === 0) {
    await expect(agent.resumeSession(id)).rejects.toThrow(TraceError);
    expect(traceFiles(place.root)).toEqual(left);
    return;
  }
  await (await agent.resumeSession(id)).dispose();
  const repaired = traceFiles(place.root);
  expectGrown(left, repaired);
  const session = await agent.resumeSession(id);
  expect(traceFiles(place.root)).toEqual(repaired);
  const before = place.server.requests.length;
  await expectEnds(session);
  await session.dispose();
  const body = place.server.requests[before]?.body as { messages: SentMessage[] };
  expectPaired(body.messages);
  expectTold(body.messages, ["continue", ...recordedWords(place.scenario, records)]);
  const starts = effects(place).filter((line) => line.startsWith("start"));
  expect(starts).toEqual([...new Set(starts)]);
  expectGrown(repaired, traceFiles(place.root));
  expect(place.tooEarly).toEqual([]);
  await expectReadable(place, id, deaths.filter((where) => where === insideWrite).length);
}

/** No piece of work is begun before the Trace says that it was allowed. */
function expectAllowed(done: readonly string[], records: readonly OmniMessage[]): void {
  const allowed = records.flatMap((record) =>
    isPayload(record, "approval_decision") && record.payload.decision === "allow" ? [record.payload.tool_call_id] : [],
  );
  for (const line of done) {
    if (line.startsWith("start ")) expect(allowed).toContain(`call_${line.slice("start ".length)}`);
  }
}

/** Nothing that was there is changed: files only grow, and new ones are added. */
function expectGrown(before: ReadonlyMap<string, Buffer>, after: ReadonlyMap<string, Buffer>): void {
  for (const [path, bytes] of before) expect(after.get(path)?.subarray(0, bytes.length).equals(bytes)).toBe(true);
}

async function expectEnds(session: Session): Promise<void> {
  const stream: OmniMessage[] = [];
  const approve = (): Promise<"allow"> => Promise.resolve("allow");
  for await (const message of session.run([userText("continue")], { approve })) stream.push(message);
  expect(stream.filter((message) => isPayload(message, "abort"))).toEqual([]);
  expect(stream.findLast((message) => isPayload(message, "text"))?.payload).toMatchObject({ text: "All finished." });
}

interface SentMessage {
  role: string;
  content: unknown;
  tool_call_id?: string;
  tool_calls?: { id: string }[];
}

/** Each call has one output, behind it and in call order; no output is without its call. */
function expectPaired(messages: readonly SentMessage[]): void {
  let owed: string[] = [];
  const seen: string[] = [];
  for (const { role, tool_call_id: id, tool_calls: calls } of messages) {
    if (role === "tool") expect(id).toBe(owed.shift());
    else expect(owed).toEqual([]);
    if (calls === undefined) continue;
    owed = calls.map((call) => call.id);
    seen.push(...owed);
  }
  expect(owed).toEqual([]);
  expect(seen).toEqual([...new Set(seen)]);
}

function expectTold(messages: readonly SentMessage[], texts: readonly string[]): void {
  const told = JSON.stringify(messages);
  expect(texts.filter((text) => !told.includes(text))).toEqual([]);
}

/** What people have said; and what the model has, but where a summary stands for it. */
function recordedWords(scenario: Scenario, records: readonly OmniMessage[]): string[] {
  const texts = records.flatMap((record) => (isPayload(record, "text") ? [record.payload] : []));
  const said = textsOf(scenario).filter((text) =>
    texts.some(({ role, text: all }) => role === "user" && all.includes(text)),
  );
  const answered = texts.flatMap(({ role, text }) => (role === "assistant" ? [text] : []));
  return scenario.work.compaction === undefined ? [...said, ...answered] : said;
}

/** Every file parses but for the lines that were torn, and nobody holds the Session. */
async function expectReadable(place: Place, id: string, tornLines: number): Promise<void> {
  const store = new FileTraceStore({ tracesDir: tracesDir(place.root) });
  await (await store.open(id)).close();
  let unread = 0;
  for (const context of await store.contexts(id)) {
    const { tornTail, skippedLines } = await store.read(id, { context });
    unread += skippedLines.length + (tornTail ? 1 : 0);
  }
  expect(unread).toBeLessThanOrEqual(tornLines);
  expect((await store.read(id)).tornTail).toBe(false);
}
