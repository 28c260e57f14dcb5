// Checks what no linter knows of: which part may import which, what the engine may not touch, how long a file may be.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const maxLines = 350;

/** Packages that each package may import of ours. */
const packages = {
  protocol: [],
  core: ["protocol"],
  testing: ["protocol", "core"],
  cli: ["protocol", "core", "testing"],
};
/** Parts of core that each part may import. */
const parts = {
  engine: [],
  shared: ["engine"],
  environment: ["engine", "shared"],
  llm: ["engine", "shared"],
  trace: ["engine", "shared"],
  config: ["engine", "shared", "llm", "trace"],
  session: ["engine", "shared"],
  agent: ["engine", "shared", "environment", "llm", "trace", "config", "session"],
};
/** Where a part may only see types and numbers of another. */
const portsOnly = new Set(["shared", "environment", "llm", "trace"]);
const portFiles = new Set(["engine/ports.ts", "engine/defaults.ts"]);
/** The face of the engine has a default for what everything else is given. */
const exceptions = new Set(["engine/context-engine.ts imports shared/system-clock.ts"]);
const banned = /\b(?:Date\.now|new Date|setTimeout|setInterval|Math\.random|process\.|fetch\(|from "node:(?!events"))/;
const timeIsOurs = new Set([
  "packages/protocol/src/build.ts",
  "packages/protocol/src/timestamp.ts",
  "packages/core/src/engine/event-loop.ts",
]);

const problems = [];

for (const file of sourceFiles(root)) {
  const path = relative(root, file);
  const text = readFileSync(file, "utf8");
  const lines = text.split("\n").length - 1;
  if (lines > maxLines) problems.push(`${path} has ${lines} lines, more than ${maxLines}; it holds two things`);
  const isPure = path.startsWith("packages/protocol/src/") || path.startsWith("packages/core/src/engine/");
  if (isPure && !timeIsOurs.has(path)) {
    for (const [index, line] of text.split("\n").entries()) {
      const found = banned.exec(withoutComment(line));
      if (found !== null)
        problems.push(`${path}:${index + 1} uses ${found[0]}; time, disk and network come through ports`);
    }
  }
  for (const specifier of importsOf(text)) checkImport(path, file, specifier);
}

function checkImport(path, file, specifier) {
  const [, name, area] = /^packages\/([^/]+)\/(src|test)\//.exec(path) ?? [];
  if (name === undefined || area !== "src") return;
  const scoped = /^@coxswain\/([^/]+)/.exec(specifier)?.[1];
  if (scoped !== undefined && !packages[name]?.includes(scoped))
    problems.push(`${path} imports ${specifier}, which ${name} may not`);
  if (!specifier.startsWith(".")) return;
  const target = join(dirname(file), specifier);
  if (!target.startsWith(join(root, "packages", name, "src")))
    problems.push(`${path} reaches out of its package: ${specifier}`);
  if (name === "core")
    checkPart(path, relative(join(root, "packages/core/src"), file), relative(join(root, "packages/core/src"), target));
}

function checkPart(path, from, to) {
  if (exceptions.has(`${from} imports ${to}`)) return;
  if (to === "index.ts") problems.push(`${path} imports the package's own index`);
  const part = from.includes("/") ? from.split("/")[0] : undefined;
  const targetPart = to.includes("/") ? to.split("/")[0] : undefined;
  if (part === undefined || part === targetPart) return;
  if (targetPart === undefined || !parts[part]?.includes(targetPart))
    problems.push(`${path} imports ${to}, which ${part} may not`);
  else if (targetPart === "engine" && portsOnly.has(part) && !portFiles.has(to)) {
    problems.push(`${path} imports ${to}; ${part} may know of the engine only ${[...portFiles].join(" and ")}`);
  }
}

function importsOf(text) {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1]);
}

function withoutComment(line) {
  return /^\s*(?:\*|\/\*|\/\/)/.test(line) ? "" : line.replace(/\s\/\/.*$/, "");
}

function* sourceFiles(directory) {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (["node_modules", "dist", ".git"].includes(entry.name)) continue;
    const path = join(directory, entry.name);
    if (entry.isDirectory()) yield* sourceFiles(path);
    else if (/\.(?:ts|tsx|mjs)$/.test(entry.name)) yield path;
  }
}

if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
