import { lstat, mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { readUpTo } from "../../shared/regular-file.ts";
import { defineTool } from "../define-tool.ts";
import type { Tool, ToolContext, ToolLimits, ToolResult } from "../tool.ts";
import { servicesOf } from "../tool-context.ts";
import { writeAtomically } from "./atomic-write.ts";
import { fileDiff } from "./file-diff.ts";
import { ToolError } from "../tool-error.ts";
import type { FileGuard } from "./file-guard.ts";
import { fileError, openFile, refuseSpecial } from "./open-file.ts";
import { decodeText } from "./text-encoding.ts";

interface WriteFileArguments {
  file_path: string;
  content: string;
  description?: string;
}

/** Of a larger file no diff is made. */
const maxDiffBytes = 8 * 1024 * 1024;

export function writeFileTool(limits: ToolLimits): Tool {
  return defineTool<WriteFileArguments>({
    name: "write_file",
    description:
      "Creates a file, or replaces all that is in it, in one step. Missing directories are created. Answers with a diff. " +
      "To change a part of a file, use edit_file.",
    parameters: {
      type: "object",
      properties: {
        file_path: { type: "string", description: "Absolute, or relative to the Workspace." },
        content: { type: "string", description: "All that the file holds afterwards." },
        description: { type: "string", description: "One sentence for the person watching: what this is for." },
      },
      required: ["file_path", "content"],
      additionalProperties: false,
    },
    permission: "rw",
    ...limits,
    preview: async (args, context) => {
      const { files } = servicesOf(context);
      const old = await readOld(files, args.file_path, files.resolve(args.file_path));
      return {
        summary: args.description ?? `${old === undefined ? "Create" : "Replace"} ${args.file_path}.`,
        diff: await diffOf(args, old),
      };
    },
    execute: (args, context) => {
      const { files, fileLock } = servicesOf(context);
      const realPath = files.resolve(args.file_path);
      return fileLock.run(realPath, () => writeFile(args, context, realPath));
    },
  });
}

async function writeFile(args: WriteFileArguments, context: ToolContext, realPath: string): Promise<ToolResult> {
  const { files, readLedger } = servicesOf(context);
  const old = await readOld(files, args.file_path, realPath);
  if (old !== undefined && readLedger.hasChanged(realPath, old)) {
    throw new ToolError(`${args.file_path} was changed by someone else since you last saw it: read it again first.`);
  }
  const bytes = Buffer.from(args.content, "utf8");
  context.signal.throwIfAborted();
  await mkdir(dirname(realPath), { recursive: true }).catch((error: unknown) => {
    throw fileError(args.file_path, error);
  });
  // The directories that were there may have been changed for links meanwhile.
  if (files.resolve(realPath) !== realPath) throw new ToolError(`${args.file_path} leads elsewhere now: try again.`);
  await writeAtomically(args.file_path, realPath, bytes);
  readLedger.note(realPath, bytes);
  const done = `${old === undefined ? "Created" : "Replaced"} ${args.file_path} (${bytes.length} bytes).`;
  return { output: `${done}\n${await diffOf(args, old)}` };
}

/** What the file holds now; `undefined` when there is none. */
async function readOld(guard: FileGuard, path: string, realPath: string): Promise<Buffer | undefined> {
  const entry = await lstat(realPath).catch(() => undefined);
  if (entry === undefined) return undefined;
  refuseSpecial(path, entry);
  const { handle } = await openFile(guard, path, realPath);
  try {
    return await readUpTo(handle, maxDiffBytes);
  } finally {
    await handle.close();
  }
}

async function diffOf(args: WriteFileArguments, old: Buffer | undefined): Promise<string> {
  if (old === undefined) return fileDiff(args.file_path, "", args.content);
  const decoded = old.length > maxDiffBytes ? undefined : decodeText(old);
  if (decoded === undefined) return "[what it held before was binary or very large: no diff]\n";
  return fileDiff(args.file_path, decoded.text, args.content);
}
