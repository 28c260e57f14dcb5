import { mask } from "../../shared/secrets.ts";
import { environmentDefaults } from "../defaults.ts";
import { defineTool } from "../define-tool.ts";
import type { Tool, ToolContext, ToolResult } from "../tool.ts";
import { servicesOf } from "../tool-context.ts";
import { ToolError } from "../tool-error.ts";
import { writeAtomically } from "./atomic-write.ts";
import { fileDiff } from "./file-diff.ts";
import { withLock } from "./keyed-lock.ts";
import { lineEndsOf, withCrLf } from "./line-ends.ts";
import { diffPath, shownPath } from "./shown-path.ts";
import { type DecodedText, decodeText, encodeText } from "./text-encoding.ts";
import { type OldFile, readIfThere } from "./text-file.ts";
import { maxWholeBytes } from "./whole-file.ts";

interface WriteFileArguments {
  file_path: string;
  content: string;
  description?: string;
}

interface PlannedWrite {
  realPath: string;
  old: OldFile | undefined;
  oldText: DecodedText | undefined;
  /** As it will stand in the file. */
  text: string;
  bytes: Buffer;
  /** What of the old file stays, which `content` does not say. */
  kept: string;
}

export const writeFileTool: Tool = defineTool<WriteFileArguments>({
  name: "write_file",
  description:
    "Creates a file, or replaces all that is in it, in one step. Missing directories are created. Answers with a diff. " +
    "Mode, encoding and CR LF line ends of a file that is there stay. To change a part of a file, use edit_file.",
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
  timeoutMs: environmentDefaults.fileToolTimeoutMs,
  preview: async (args, context) => {
    const { files, readLedger } = servicesOf(context);
    const planned = await planWrite(args, context);
    readLedger.noteShown(context.toolCallId, planned.old && (planned.old.bytes ?? tooLarge));
    const name = shownPath(files, args.file_path, planned.realPath);
    return {
      summary: args.description ?? `${planned.old === undefined ? "Create" : "Replace"} ${name}.`,
      diff: await diffOf(args, context, planned),
    };
  },
  execute: (args, context) => {
    const { files } = servicesOf(context);
    return withLock(files.resolveForWriting(args.file_path), () => writeFile(args, context));
  },
});

/** Stands for the bytes of a file that is not compared. */
const tooLarge = Buffer.from("large");

async function writeFile(args: WriteFileArguments, context: ToolContext): Promise<ToolResult> {
  const { files, readLedger } = servicesOf(context);
  const planned = await planWrite(args, context);
  const { realPath, old, bytes } = planned;
  refuseChanged(args, context, planned);
  const name = shownPath(files, args.file_path, realPath);
  if (old?.bytes?.equals(bytes) === true) {
    readLedger.note(realPath, bytes);
    return { output: `${name} holds exactly this already.` };
  }
  // Before the writing: what was done is never told as failed.
  const diff = await diffOf(args, context, planned);
  context.signal.throwIfAborted();
  await writeAtomically({ path: args.file_path, realPath, bytes, seen: old?.stats, signal: context.signal });
  readLedger.note(realPath, bytes.length > maxWholeBytes ? undefined : bytes);
  const done = `${old === undefined ? "Created" : "Replaced"} ${name} (${bytes.length} bytes${planned.kept}).`;
  return { output: `${done}\n${diff}` };
}

/** @throws ToolError when the file is not what the model, or whoever allowed this, has seen. */
function refuseChanged(args: WriteFileArguments, context: ToolContext, { realPath, old }: PlannedWrite): void {
  const { readLedger } = servicesOf(context);
  const now = old && (old.bytes ?? tooLarge);
  if (now !== undefined && readLedger.hasChanged(realPath, now)) {
    throw new ToolError(`${args.file_path} was changed since you last read it: read it again first.`);
  }
  if (readLedger.hasChangedSinceShown(context.toolCallId, realPath, now)) {
    throw new ToolError(`${args.file_path} was changed since this was shown for a decision: read it again first.`);
  }
}

async function planWrite(args: WriteFileArguments, context: ToolContext): Promise<PlannedWrite> {
  const { files } = servicesOf(context);
  const realPath = files.resolveForWriting(args.file_path);
  if (args.file_path.endsWith("/")) throw new ToolError(`${args.file_path} names a directory: add a file name.`);
  if (!args.content.isWellFormed()) {
    throw new ToolError("`content` holds half a character (a lone surrogate): leave it out.");
  }
  const old = await readIfThere(files, args.file_path, realPath);
  const oldText = old?.bytes && decodeText(old.bytes);
  if (args.content.includes(mask) && oldText !== undefined && files.masked(oldText.text) !== oldText.text) {
    throw new ToolError(
      `${args.file_path} holds a secret, which you see as ${mask} and would overwrite: use edit_file, and leave it alone.`,
    );
  }
  return { realPath, old, oldText, ...formed(args.content, oldText) };
}

/** Whoever writes a file anew has seen neither its encoding nor its line ends. */
function formed(content: string, old: DecodedText | undefined): Pick<PlannedWrite, "text" | "bytes" | "kept"> {
  const kept: string[] = [];
  let text = content;
  if (old !== undefined && !content.includes("\r") && lineEndsOf(old.text) === "CR LF") {
    text = withCrLf(content);
    if (text !== content) kept.push("CR LF line ends");
  }
  const form = { encoding: old?.encoding ?? "utf8", byteOrderMark: old?.byteOrderMark === true } as const;
  const bare = form.byteOrderMark && text.startsWith("\uFEFF") ? text.slice(1) : text;
  const encoded = old && encodeText(bare, form);
  if (old === undefined || encoded === undefined)
    return { text, bytes: Buffer.from(text, "utf8"), kept: keptWords(kept) };
  if (form.byteOrderMark) kept.push("byte order mark");
  if (form.encoding !== "utf8") kept.push(`encoding ${form.encoding}`);
  return { text: bare, bytes: encoded, kept: keptWords(kept) };
}

function keptWords(kept: readonly string[]): string {
  return kept.length === 0 ? "" : `; kept: ${kept.join(", ")}`;
}

async function diffOf(args: WriteFileArguments, context: ToolContext, planned: PlannedWrite): Promise<string> {
  const { old, oldText, text } = planned;
  if (old !== undefined && oldText === undefined) return "[what it held before was binary or very large: no diff]\n";
  const { files } = servicesOf(context);
  const path = diffPath(files, args.file_path, planned.realPath);
  const masked = (line: string): string => files.masked(line);
  return fileDiff({ path, before: oldText?.text ?? "", after: text, masked });
}
