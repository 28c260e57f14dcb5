/** A tool call in words: short for the course of events, whole for a decision. */
import { builtInTools, type Preview } from "@coxswain/core";
import type { ToolCallPayload } from "@coxswain/protocol";
import { cut, inOneLine, showHidden } from "./terminal-text.ts";

type Arguments = Readonly<Record<string, unknown>>;

/** Tools in whose calls a `description` is for the person watching; in any other's it may be a part of what is done. */
const describedTools = new Set(builtInTools().map(({ definition }) => definition.name));

/** One line; `exec_command: npm test`. */
export function shortCall(call: ToolCallPayload): string {
  const args = parseArguments(call.arguments);
  const command = commandOf(call, args);
  const words = command ?? (args === undefined ? call.arguments : pairs(call, args));
  const name = inOneLine(call.name);
  return words.trim() === "" ? name : cut(`${name}: ${inOneLine(showHidden(words))}`, 200);
}

/** What a decision is about, all of it, with nothing hidden. */
export function wholeCall(call: ToolCallPayload): string {
  const args = parseArguments(call.arguments);
  const lines = [showHidden(call.name)];
  if (args === undefined) lines.push(`  arguments, which are no JSON object: ${showHidden(call.arguments)}`);
  for (const [name, value] of Object.entries(args ?? {})) lines.push(...field(name, value));
  return lines.join("\n");
}

/** What the arguments do not say: which command it is about, where that runs, what would change in a file. */
export function previewLines(preview: Preview | undefined, call: ToolCallPayload): string[] {
  const lines: string[] = [];
  const isSaid = commandOf(call, parseArguments(call.arguments)) !== undefined;
  if (preview?.command !== undefined && !isSaid) lines.push(...field("command", preview.command));
  if (preview?.workdir !== undefined) lines.push(`  runs in ${showHidden(preview.workdir)}`);
  if (preview?.diff !== undefined)
    lines.push(
      ...showHidden(preview.diff)
        .split("\n")
        .map((line) => `  ${line}`),
    );
  return lines;
}

/** Two calls with the same key ask for the same thing. */
export function callKey(call: ToolCallPayload): string {
  const args = parseArguments(call.arguments);
  if (args === undefined) return JSON.stringify([call.name, call.arguments]);
  const entries = effective(call, args);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  try {
    return JSON.stringify([call.name, entries]);
  } catch {
    // Nested more deeply than can be written.
    return JSON.stringify([call.name, call.arguments]);
  }
}

/** What decides what is done. */
function effective(call: ToolCallPayload, args: Arguments): [string, unknown][] {
  return Object.entries(args).filter(([name]) => name !== "description" || !describedTools.has(call.name));
}

function pairs(call: ToolCallPayload, args: Arguments): string {
  return effective(call, args)
    .map(([name, value]) => `${name}=${valueText(value)}`)
    .join(" ");
}

function field(name: string, value: unknown): string[] {
  const text = showHidden(valueText(value));
  const label = showHidden(name);
  if (!text.includes("\n")) return [`  ${label}: ${text}`];
  return [`  ${label}:`, ...text.split("\n").map((line) => `    ${line}`)];
}

function commandOf(call: ToolCallPayload, args: Arguments | undefined): string | undefined {
  const command = call.name === "exec_command" ? args?.["cmd"] : undefined;
  return typeof command === "string" ? command : undefined;
}

function valueText(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    // Reading goes deeper than writing does.
    return "[nested too deeply to be shown]";
  }
}

function parseArguments(text: string): Arguments | undefined {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
