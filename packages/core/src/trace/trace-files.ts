/** Where the files of a Session are: `<tracesDir>/<yyyy-mm-dd>/<session_id>_<001>.jsonl`. */
import * as fs from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { dateOfSessionId } from "./session-id.ts";
import { errnoOf } from "../shared/error-words.ts";

const dateFolder = /^\d{4}-\d\d-\d\d$/;
const fileName = /^([A-Za-z0-9_-]{1,100})_(\d{3,6})\.jsonl$/;

export interface ContextFile {
  /** 1-based index of the model context. */
  context: number;
  path: string;
}

export function traceFileName(sessionId: string, context: number): string {
  return `${sessionId}_${String(context).padStart(3, "0")}.jsonl`;
}

export function parseTraceFileName(name: string): { sessionId: string; context: number } | undefined {
  const parts = fileName.exec(name);
  if (parts === null) return undefined;
  return { sessionId: parts[1] ?? "", context: Number(parts[2]) };
}

/** `yyyy-mm-dd` folders, oldest first. Nothing when there is no directory yet. */
export async function dateFolders(tracesDir: string): Promise<string[]> {
  return (await namesIn(tracesDir)).filter((name) => dateFolder.test(name)).sort();
}

/**
 * The files of a Session, by context. Our own lie in the folder of the id's day; other writers put a later context
 * into the folder of its own day, so later folders are searched too.
 */
export async function findContexts(tracesDir: string, sessionId: string): Promise<ContextFile[]> {
  const firstDay = dateOfSessionId(sessionId) ?? "";
  const folders = (await dateFolders(tracesDir)).filter((folder) => folder >= firstDay);
  const found = new Map<number, string>();
  for (const folder of folders) {
    for (const name of await namesIn(join(tracesDir, folder))) {
      if (!name.startsWith(sessionId)) continue;
      const parsed = parseTraceFileName(name);
      if (parsed?.sessionId === sessionId && !found.has(parsed.context)) {
        found.set(parsed.context, join(tracesDir, folder, name));
      }
    }
  }
  return [...found].map(([context, path]) => ({ context, path })).sort((a, b) => a.context - b.context);
}

/** Names in a directory; a link in its place is not followed. */
export async function namesIn(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    const code = errnoOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

export function exists(path: string): boolean {
  return fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
