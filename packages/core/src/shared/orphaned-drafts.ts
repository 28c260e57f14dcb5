/** Drafts of files whose Coxswain was killed before they took their place: their names say which process made them. */
import { lstat, opendir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { hostOfDraft, isDead } from "./host-mark.ts";
import { isTrustedOwner } from "./private-directory.ts";

/** Whoever fills a directory with names makes no write in it slow: what lies behind these is left. */
const maxEntries = 2048;
/** Of them, names of drafts. */
const maxDrafts = 32;

/**
 * Removes those that lie beside a file that is about to be written, where somebody would look at them or commit them.
 * Linux only, as nothing else tells who is dead; never fails. A writer on another machine that shares the directory looks
 * dead too: he is told that his draft is gone, and has lost nothing.
 */
export async function removeOrphanedDrafts(directory: string): Promise<void> {
  const ourId = process.getuid?.();
  if (process.platform !== "linux" || ourId === undefined) return;
  for (const name of await draftsIn(directory).catch(() => [])) {
    const mark = hostOfDraft(name);
    if (mark === undefined || !isDead(mark)) continue;
    const path = join(directory, name);
    try {
      const stats = await lstat(path);
      // The processes of others may be hidden from us.
      if (stats.isFile() && isTrustedOwner(stats.uid, ourId)) await unlink(path);
    } catch {
      // It is gone already, or cannot be removed.
    }
  }
}

async function draftsIn(directory: string): Promise<string[]> {
  const names: string[] = [];
  const entries = await opendir(directory, { bufferSize: maxEntries });
  try {
    for (let count = 0; count < maxEntries && names.length < maxDrafts; count++) {
      // All were read at once: the rest of them waits for nothing.
      const entry = await entries.read();
      if (entry === null) break;
      if (hostOfDraft(entry.name) !== undefined) names.push(entry.name);
    }
  } finally {
    await entries.close();
  }
  return names;
}
