/** `AGENTS.md`: what the agent's owner, and the Workspace, have to say to the model. */
import { constants } from "node:fs";
import { type FileHandle, lstat, open, realpath } from "node:fs/promises";
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
    // The target was looked at, so it must not become a link meanwhile; a FIFO must not hang.
    file = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    return await readBounded(path, file, warnings);
  } catch (error) {
    if (await isThere(path))
      warnings.push(`${path} is not read: ${error instanceof Error ? error.message : String(error)}`);
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
  if (!(await file.stat()).isFile()) {
    warnings.push(`${path} is not read: it is no regular file`);
    return "";
  }
  const bytes = Buffer.alloc(maxInstructionBytes + 1);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  if (length <= maxInstructionBytes) return bytes.toString("utf8", 0, length).trim();
  warnings.push(`${path} is longer than ${maxInstructionBytes} bytes; the rest is left out`);
  // Cutting may have left the beginning of a character.
  const text = bytes.toString("utf8", 0, maxInstructionBytes).replace(/\ufffd$/, "");
  return `${text.trim()}\n\n[the rest of this file is left out: it is too long]`;
}
