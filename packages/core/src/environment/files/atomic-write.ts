/** Replaces a file in one step: a reader sees the old bytes or the new ones. */
import { replaceFile } from "../../shared/replace-file.ts";
import { fileError } from "./open-file.ts";

/**
 * Keeps mode and owner of a file that is there.
 * @param realPath Without links; its directory exists.
 * @throws ToolError
 */
export async function writeAtomically(path: string, realPath: string, bytes: Uint8Array): Promise<void> {
  try {
    await replaceFile(realPath, bytes);
  } catch (error) {
    throw fileError(path, error);
  }
}
