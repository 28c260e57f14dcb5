// The test of the tester: plants bugs in copies of the shipped source, one in each, and lets the simulator look for it.
//
// node scripts/planted-bugs.mjs [--seeds N] [--only name,name] [--check] [--problems]
import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Copies } from "./planted-bugs/copies.mjs";
import { readBugs } from "./planted-bugs/list.mjs";

const root = join(fileURLToPath(import.meta.url), "../..");
const atOnce = 2;
/** Longer than any life of a healthy engine takes on a busy machine. */
const patienceMs = 300_000;

const { values: options } = parseArgs({
  options: {
    seeds: { type: "string", default: "2000" },
    only: { type: "string" },
    /** Looks at the list alone. */
    check: { type: "boolean", default: false },
    /** Says also what was seen of each. */
    problems: { type: "boolean", default: false },
  },
});
const seeds = Number(options.seeds);
if (!Number.isSafeInteger(seeds) || seeds < 1) fail([`--seeds takes a number of lives, not "${options.seeds}"`]);

const names = options.only?.split(",");
const { invariants, bugs, problems } = await readBugs(root, names);
for (const name of names ?? []) {
  if (problems.length === 0 && !bugs.some((bug) => bug.name === name)) problems.push(`no bug has the name ${name}`);
}
if (problems.length > 0) fail(problems);
console.log(`${bugs.length} bugs can be planted`);
if (!options.check) await lookForAll().catch((error) => fail([error.message]));

async function lookForAll() {
  const copies = new Copies(root);
  try {
    const whole = await lookThroughUnchanged(copies);
    if (whole !== undefined) throw new Error(`without any bug: ${describe(whole)}: ${whole.problem ?? ""}`);
    console.log(`without any bug, every rule held for ${seeds} seeds`);
    const results = await eachOf(bugs, async (bug) => {
      const copy = copies.plant(bug);
      const result = await lookThrough(copy, 1, seeds);
      copies.remove(copy);
      console.log(row(bug, result));
      if (options.problems && result.problem) console.log(`    ${result.problem.slice(0, 400)}`);
      return result;
    });
    tellTotals(results);
  } finally {
    copies.removeAll();
  }
}

/** @returns What was wrong, if anything was. */
async function lookThroughUnchanged({ unchanged }) {
  const middle = Math.ceil(seeds / 2);
  const halves = [lookThrough(unchanged, 1, middle), lookThrough(unchanged, middle + 1, seeds)];
  return (await Promise.all(halves)).find(({ seed, fault }) => seed !== undefined || fault !== undefined);
}

/** @returns The seed and the rule that was broken; `fault` when the process did not come to its end. */
async function lookThrough(copy, from, to) {
  const program = fileURLToPath(new URL("./planted-bugs/live.mjs", import.meta.url));
  const child = spawn(process.execPath, [program, copy, String(from), String(to)], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: patienceMs,
    killSignal: "SIGKILL",
  });
  const ended = new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal })));
  const [output, errors, { code, signal }] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code === 0) return JSON.parse(output.trim().split("\n").at(-1));
  const words = errors.split("\n").find((line) => /Error|error/.test(line)) ?? errors.trim();
  return { fault: signal === null ? `the simulator broke: ${words}` : `no end after ${patienceMs / 1_000} s` };
}

async function eachOf(items, work) {
  const results = new Map();
  const waiting = [...items];
  const workers = Array.from({ length: atOnce }, async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) results.set(item, await work(item));
  });
  await Promise.all(workers);
  return results;
}

function row({ invariant, name, file, place }, result) {
  const where = `${file.replace(/^packages\/(\w+)\/src\//, "$1 ")}:${place}`;
  return `${invariant.padEnd(20)} ${name.padEnd(40)} ${where.padEnd(36)} ${describe(result)}`;
}

function describe({ seed, rule, fault }) {
  if (fault !== undefined) return `NOT FOUND: ${fault}`;
  return seed === undefined ? "NOT FOUND" : `seed ${String(seed).padStart(4)}: ${rule}`;
}

function tellTotals(results) {
  console.log(`\n${"rule".padEnd(20)} planted  found  by this rule  seen first by this rule`);
  const found = [...results].filter(([, { seed }]) => seed !== undefined);
  for (const invariant of invariants) {
    const planted = bugs.filter((bug) => bug.invariant === invariant).length;
    const mine = found.filter(([bug]) => bug.invariant === invariant);
    const byThis = mine.filter(([, { rule }]) => rule === invariant).length;
    const first = found.filter(([, { rule }]) => rule === invariant).length;
    const numbers = [planted, mine.length, byThis, first].map((count, index) =>
      String(count).padStart([7, 7, 14, 25][index]),
    );
    console.log(`${invariant.padEnd(20)} ${numbers.join("")}`);
  }
  console.log(`${bugs.length} planted, ${found.length} found`);
  if (found.length < bugs.length) process.exitCode = 1;
}

function fail(reasons) {
  for (const reason of reasons) console.error(reason);
  process.exit(1);
}
