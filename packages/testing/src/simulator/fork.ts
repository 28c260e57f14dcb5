/** A death and an interrupt at the same record must come to the same: both are done, and the next requests compared. */
import { type EngineState, isModelMessage, type OmniMessage, replayTrace } from "@coxswain/core";
import { type Life, live, type LifeOptions, type Violation } from "./life.ts";
import type { Observation } from "./observation.ts";
import { settle } from "./settle.ts";
import { comparable, isReport } from "./texts.ts";

const name = "resume is interrupt";
const placeholder = /\[interrupted: [^\]]*\]/g;

interface Continuation {
  /** All that the model is told by the next request. */
  told: string[];
  /** What the Trace says, without the words that only an interrupt can still record. */
  owed: string[];
  closings: number;
}

/** @param options Of the life that is forked, at a step of its `forkable`. */
export async function compareForks(options: LifeOptions, step: number): Promise<Violation | undefined> {
  // Up to there they are the life that has been watched already.
  const unwatched: LifeOptions = { ...options, watch: () => () => undefined };
  const interrupted = await continued({ ...unwatched, fork: { step, by: "interrupt" } });
  if ("invariant" in interrupted) return interrupted;
  const resumed = await continued({ ...unwatched, fork: { step, by: "death" } });
  if ("invariant" in resumed) return resumed;
  const problem =
    difference(interrupted.owed, resumed.owed) ??
    (interrupted.closings === 0 ? difference(interrupted.told, resumed.told) : undefined);
  return problem === undefined ? undefined : { invariant: name, problem: `at step ${step}: ${problem}` };
}

async function continued(options: LifeOptions): Promise<Continuation | Violation> {
  const life = await live(options);
  if (life.violation !== undefined) return life.violation;
  if (life.forked === undefined) return { invariant: name, problem: "the same seed went another way" };
  const { world, recordsBefore } = life.forked;
  const added = world.disk.contexts.flat().slice(recordsBefore);
  // What was still streaming: a resume cannot know of it.
  const closings = new Set(options.fork?.by === "interrupt" ? added.filter(isModelMessage) : []);
  const owed = owedBy(replayTrace(world.disk.newest.filter((record) => !closings.has(record as never))));
  // With no turns allowed, nothing would be sent.
  if (world.settings.maxTurns === 0) return { told: [], owed, closings: closings.size };
  const request = await nextRequest(life, life.forked);
  await world.end();
  if (request === undefined) return { invariant: "ends", problem: "nothing is sent after a fork" };
  // Only a process that lives on knows what was reported and not written yet.
  const before = new Set(world.disk.contexts.flat().slice(0, recordsBefore).map(comparable));
  const told = [...request.history, ...request.input].filter(
    (message) => !isReport(message) || before.has(comparable(message)),
  );
  return { told: told.map(withoutReason), owed, closings: closings.size };
}

function owedBy({ pendingSummary, history, carryOver }: EngineState): string[] {
  return [...(pendingSummary === undefined ? [] : [pendingSummary]), ...history, ...carryOver].map(withoutReason);
}

function withoutReason(message: OmniMessage): string {
  return comparable(message).replace(placeholder, "[interrupted]");
}

/** Goes on with a plain input, and nothing in its way. */
async function nextRequest(
  { log }: Life,
  { process, world }: NonNullable<Life["forked"]>,
): Promise<Extract<Observation, { at: "request" }> | undefined> {
  const begin = log.length;
  const run = process.engine.run([world.build.userText("go on")]);
  const read = (): void => {
    void run.next().then((result) => {
      if (result.done !== true) read();
    });
  };
  read();
  for (let round = 0; round < 20; round += 1) {
    await settle();
    const request = log.slice(begin).find((seen) => seen.at === "request");
    if (request?.at === "request") return request;
    for (const gate of process.gates.closed) if (gate.kind !== "model") await process.gates.open(gate);
  }
  return undefined;
}

function difference(interrupted: readonly string[], resumed: readonly string[]): string | undefined {
  for (let index = 0; index < Math.max(interrupted.length, resumed.length); index += 1) {
    if (interrupted[index] === resumed[index]) continue;
    return `after the interrupt ${index} is ${interrupted[index] ?? "nothing"}; after the death ${resumed[index] ?? "nothing"}`;
  }
  return undefined;
}
