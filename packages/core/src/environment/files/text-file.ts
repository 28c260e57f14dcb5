/** A text file that is read to be written again. */
import { readUpTo } from "../../shared/regular-file.ts";
import { ToolError } from "../tool-error.ts";
import type { FileGuard } from "./file-guard.ts";
import { openFile } from "./open-file.ts";
import { type DecodedText, decodeText } from "./text-encoding.ts";

const maxEditBytes = 8 * 1024 * 1024;

export interface TextFile extends DecodedText {
  bytes: Buffer;
}

/** @throws ToolError when it is no text file, or a very large one. */
export async function readTextFile(guard: FileGuard, path: string, realPath: string): Promise<TextFile> {
  const { handle } = await openFile(guard, path, realPath);
  try {
    const bytes = await readUpTo(handle, maxEditBytes);
    if (bytes.length > maxEditBytes) throw new ToolError(`${path} is larger than 8 MiB: change it by a command.`);
    const decoded = decodeText(bytes);
    if (decoded === undefined) throw new ToolError(`${path} is a binary file: it cannot be changed as text.`);
    return { ...decoded, bytes };
  } finally {
    await handle.close();
  }
}
