// The list of bugs that are planted: one file for each rule, and what makes an entry one that can be planted.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { transformWithOxc } from "vite";

const invariants = [
  "pairing",
  "one decision",
  "at most once",
  "nothing lost",
  "closed segments",
  "one order",
  "brackets",
  "resume is interrupt",
  "ends",
  "accounts",
  "prefix",
];
const minBugsPerInvariant = 3;
const texts = ["name", "file", "line", "bug", "harm"];
const filePattern = /^packages\/(?:protocol|core)\/src\/.+\.ts$/;

/**
 * @param names Of the only bugs to look at. Default: all.
 * @returns Bugs as they are planted, each with the JavaScript of its file; and what is wrong with the list.
 */
export async function readBugs(root, names) {
  const directory = join(root, "packages/testing/planted-bugs");
  const bugs = [];
  const problems = [];
  for (const invariant of invariants) {
    const path = join(directory, `${invariant.replaceAll(" ", "-")}.json`);
    const entries = JSON.parse(readFileSync(path, "utf8"));
    if (entries.length < minBugsPerInvariant) {
      problems.push(`${path} has ${entries.length} bugs; plant at least ${minBugsPerInvariant}`);
    }
    for (const entry of entries) {
      if (names?.includes(entry.name) === false) continue;
      try {
        bugs.push({ invariant, ...entry, ...(await planted(root, entry)) });
      } catch (error) {
        problems.push(`${invariant}: ${entry.name}: ${error.message}`);
      }
    }
  }
  const known = new Set(invariants.map((invariant) => `${invariant.replaceAll(" ", "-")}.json`));
  for (const name of readdirSync(directory)) if (!known.has(name)) problems.push(`${name} belongs to no rule`);
  problems.push(...doubles(bugs));
  return { invariants, bugs, problems };
}

/** Files as they are. */
const compiled = new Map();

/** @throws what keeps it from being planted */
async function planted(root, entry) {
  for (const key of texts) if (typeof entry[key] !== "string") throw new Error(`${key} must be a text`);
  const { file, line, bug } = entry;
  // What is compiled keeps its comments: another one would pass for another program.
  if (/\/[/*]/.test(line + bug)) throw new Error(`a comment is no bug: ${bug}`);
  if (!filePattern.test(file)) throw new Error(`${file} is not shipped source of protocol or core`);
  const lines = readFileSync(join(root, file), "utf8").split("\n");
  const places = lines.flatMap((text, index) => (text.trim() === line ? [index] : []));
  if (places.length !== 1) throw new Error(`its line is in ${file} ${places.length} times, not once: ${line}`);
  const [place] = places;
  const whole = compiled.get(file) ?? (await compile(file, lines.join("\n")));
  compiled.set(file, whole);
  const script = await compile(file, lines.with(place, bug).join("\n"));
  if (script === whole) throw new Error("it changes nothing");
  return { place: place + 1, script };
}

async function compile(fileName, source) {
  try {
    const { code } = await transformWithOxc(source, fileName, {
      target: "es2023",
      sourcemap: false,
      tsconfig: false,
      typescript: { onlyRemoveTypeImports: true, rewriteImportExtensions: true },
    });
    return code;
  } catch (error) {
    throw new Error(`it does not compile: ${stripVTControlCharacters(error.message)}`, { cause: error });
  }
}

function doubles(bugs) {
  const problems = [];
  const seen = new Set();
  for (const { name, file, place, script } of bugs) {
    if (seen.has(name)) problems.push(`two bugs have the name ${name}`);
    const edit = `${file}:${place} ${script}`;
    if (seen.has(edit)) problems.push(`${name} is another bug of the list once more`);
    seen.add(name).add(edit);
  }
  return problems;
}
