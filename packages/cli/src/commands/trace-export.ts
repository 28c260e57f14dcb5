/** `cox trace export`: a Session as one file that can be handed on. */
import { randomUUID } from "node:crypto";
import { link, open, rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import type { ExportedSession, Scrubbed } from "@coxswain/core";
import { CliUsageError, exitCodes } from "../exit-code.ts";
import { type AgentChoice, openAgent } from "../open-session.ts";
import { jsonLine } from "../terminal-text.ts";
import { openTerminal, type Terminal } from "../terminal.ts";

export interface TraceExportFlags extends AgentChoice {
  /** `-`: standard output. Default: a file of the Session's name, here. */
  out?: string | undefined;
  force?: boolean | undefined;
  withMedia?: boolean | undefined;
  withFidelity?: boolean | undefined;
}

/** @returns The exit code. */
export function traceExport(sessionId: string, flags: TraceExportFlags): Promise<number> {
  const terminal = openTerminal();
  return terminal.lifetime.run(() => exportTrace(terminal, sessionId, flags));
}

async function exportTrace(terminal: Terminal, sessionId: string, flags: TraceExportFlags): Promise<number> {
  const { lifetime, screen, stdout } = terminal;
  lifetime.beforeEnd(() => screen.flush());
  const agent = await openAgent(flags);
  const exported = await agent.exportSession(sessionId, { media: flags.withMedia, fidelity: flags.withFidelity });
  const text = exported.messages.map((message) => `${jsonLine(message)}\n`).join("");
  const out = flags.out ?? `${sessionId}.jsonl`;
  if (out === "-") await stdout.write(text);
  else await writeNew(resolve(out), text, flags.force === true);
  await screen.line(`${exported.messages.length} records in ${out === "-" ? "all" : out}`);
  for (const line of removedLines(exported)) await screen.line(line);
  return exitCodes.done;
}

/** Whole or not at all; private to the user. */
async function writeNew(path: string, text: string, mayReplace: boolean): Promise<void> {
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    if (mayReplace) await rename(draft, path);
    else await link(draft, path);
  } catch (error) {
    throw asUsage(path, error);
  } finally {
    await rm(draft, { force: true });
  }
}

function asUsage(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || !("code" in error)) return error;
  if (error.code === "EEXIST")
    return new CliUsageError(`${path} is there already; name another with --out, or use --force`);
  return new CliUsageError(`${path} cannot be written (${String(error.code)}); name another place with --out`);
}

const removed: Readonly<Record<keyof Scrubbed, string>> = {
  secrets: "a key",
  headers: "the value of a header or setting that holds a key",
  paths: "a home directory or user name in a path",
  media: "an image or inline data (--with-media keeps them)",
  fidelity: "opaque data of a provider (--with-fidelity keeps it)",
};

function removedLines({ scrubbed, unreadableLines }: ExportedSession): string[] {
  const lines = (Object.keys(removed) as (keyof Scrubbed)[])
    .filter((kind) => scrubbed[kind] > 0)
    .map((kind) => `  removed: ${scrubbed[kind]} × ${removed[kind]}`);
  if (lines.length === 0) lines.push("  removed: nothing; what was said is in it as it was said");
  if (unreadableLines > 0) lines.push(`  left out: ${unreadableLines} × a line that cannot be read`);
  return lines;
}
