/** `AGENTS.md`: what the agent's owner, and the Workspace, have to say to the model. */
import { type FileHandle, lstat, realpath } from "node:fs/promises";
import { wordsOf } from "../shared/error-words.ts";
import { NotRegularFileError, openRegularFile, readUpTo } from "../shared/regular-file.ts";
import { join, sep } from "node:path";

/** Bytes of one file that are taken. */
const maxInstructionBytes = 64 * 1024;
const fileName = "AGENTS.md";

export interface Instructions {
  /** The value of `{{AGENTS_MD}}`; empty when there are none. */
  text: string;
  /** One line each: files that were not read, or not whole. */
  warnings: string[];
}

/** Never throws: instructions that cannot be read are a warning. A link that leads out of its directory is not followed. */
export async function readInstructions(places: { agentStateDir: string; workspaceDir: string }): Promise<Instructions> {
  const warnings: string[] = [];
  const ofAgent = await readInside(places.agentStateDir, warnings);
  const ofWorkspace = await readInside(places.workspaceDir, warnings);
  const parts: string[] = [];
  if (ofAgent !== "") parts.push(`# Instructions for this agent\n\n${ofAgent}`);
  if (ofWorkspace !== "") parts.push(`# Instructions of this workspace (${fileName})\n\n${ofWorkspace}`);
  return { text: parts.join("\n\n"), warnings };
}

async function readInside(directory: string, warnings: string[]): Promise<string> {
  const path = join(directory, fileName);
  let file: FileHandle | undefined;
  try {
    const place = await realpath(directory);
    const target = await realpath(path);
    if (!target.startsWith(place.endsWith(sep) ? place : place + sep)) {
      warnings.push(`${path} is not read: it leads to ${target}, outside of its directory`);
      return "";
    }
    // The target was looked at, so it must not become a link meanwhile.
    file = (await openRegularFile(target)).handle;
    return await readBounded(path, file, warnings);
  } catch (error) {
    const reason = error instanceof NotRegularFileError ? "it is no regular file" : wordsOf(error);
    if (await isThere(path)) warnings.push(`${path} is not read: ${reason}`);
    return "";
  } finally {
    await file?.close();
  }
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

async function readBounded(path: string, file: FileHandle, warnings: string[]): Promise<string> {
  const bytes = await readUpTo(file, maxInstructionBytes);
  if (bytes.length <= maxInstructionBytes) return bytes.toString("utf8").trim();
  warnings.push(`${path} is longer than ${maxInstructionBytes} bytes; the rest is left out`);
  // Cutting may have left the beginning of a character.
  const text = bytes.toString("utf8", 0, maxInstructionBytes).replace(/\ufffd$/, "");
  return `${text.trim()}\n\n[the rest of this file is left out: it is too long]`;
}
