/** Changes a file of ours that a person edits too: whole or not at all, and never over what somebody else has just written. */
import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Clock } from "../engine/ports.ts";
import { errnoOf, wordsOf } from "../shared/error-words.ts";
import { replaceFile } from "../shared/replace-file.ts";
import { systemClock } from "../shared/system-clock.ts";
import { TraceLockedError } from "../trace/trace-error.ts";
import { acquireWriteLock, type WriteLock } from "../trace/write-lock.ts";
import { ConfigError } from "./config-error.ts";
import { type ConfigFile, maxFileBytes, readConfigFile } from "./config-file.ts";
import { ensureDirectory } from "./home.ts";

const byteOrderMark = "\ufeff";
const privateMode = 0o600;
const lockWaitMs = 5_000;
const lockPauseMs = 25;
/** An editor that writes meanwhile holds no lock of ours. */
const attempts = 5;

class ChangedMeanwhile extends Error {}

/** What a change makes of a text, and what it tells of it. */
export interface ConfigChange<T> {
  text: string;
  result: T;
}

/**
 * Makes the directory, which is private, and writes the file (0600), unless the text stays the same and nobody else may open it. A link is followed.
 *
 * @param change May be called again with a newer text; what it throws is thrown, and the file left as it is.
 * @throws ConfigError
 */
export async function replaceConfig<T>(
  path: string,
  change: (file: ConfigFile) => Promise<ConfigChange<T>>,
  clock: Clock = systemClock,
): Promise<T> {
  ensureDirectory(dirname(path));
  const lock = await lockFor(path, clock);
  try {
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const before = await readConfigFile(path);
      const { text, result } = await change(before ?? { text: "", mode: privateMode });
      const isPrivate = before === undefined || (before.mode & 0o077) === 0;
      if (text === (before?.text ?? "") && isPrivate) return result;
      if (await isReplaced(path, before, text)) return result;
    }
  } finally {
    await lock.release();
  }
  throw new ConfigError("unwritable", "keeps being changed by something else; try again when that is over", {
    file: path,
  });
}

async function isReplaced(path: string, before: ConfigFile | undefined, text: string): Promise<boolean> {
  const bytes = Buffer.from((before?.hasByteOrderMark === true ? byteOrderMark : "") + text);
  if (bytes.length > maxFileBytes) {
    throw new ConfigError("unwritable", `would have ${bytes.length} bytes; at most ${maxFileBytes} are read`, {
      file: path,
    });
  }
  const beforeReplacing = async (): Promise<void> => {
    if ((await readConfigFile(path))?.text !== before?.text) throw new ChangedMeanwhile();
  };
  try {
    await replaceFile(await target(path), bytes, { mode: privateMode, beforeReplacing });
    return true;
  } catch (error) {
    if (error instanceof ChangedMeanwhile) return false;
    if (error instanceof ConfigError) throw error;
    throw new ConfigError("unwritable", `cannot be written: ${wordsOf(error)}`, { file: path, cause: error });
  }
}

/** The place of the file itself, where the path may be a link to it. */
async function target(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
  const isThere = await lstat(path).then(
    () => true,
    () => false,
  );
  if (!isThere) return join(await realpath(dirname(path)), basename(path));
  throw new ConfigError("unwritable", "is a link to a file that is not there; remove it, or make the file", {
    file: path,
  });
}

/** The lock is the kernel's, so that it ends with its process. */
async function lockFor(path: string, clock: Clock): Promise<WriteLock> {
  const deadlineMs = clock.now() + lockWaitMs;
  for (;;) {
    try {
      return await acquireWriteLock(dirname(path), basename(path));
    } catch (error) {
      if (!(error instanceof TraceLockedError)) {
        throw new ConfigError("unwritable", `cannot be locked: ${wordsOf(error)}`, { file: path, cause: error });
      }
      if (clock.now() >= deadlineMs) {
        const holder = error.pid === undefined ? "another process" : `process ${error.pid}`;
        throw new ConfigError("unwritable", `is being changed by ${holder}; try again when that is over`, {
          file: path,
        });
      }
    }
    await clock.sleep(lockPauseMs);
  }
}
