import type { BigIntStats } from "node:fs";
import { mask } from "../../shared/secrets.ts";
import { environmentDefaults } from "../defaults.ts";
import { defineTool } from "../define-tool.ts";
import type { Tool, ToolContext, ToolResult } from "../tool.ts";
import { servicesOf } from "../tool-context.ts";
import { ToolError } from "../tool-error.ts";
import { writeAtomically } from "./atomic-write.ts";
import { fileDiff } from "./file-diff.ts";
import { withLock } from "./keyed-lock.ts";
import { nearMiss } from "./near-miss.ts";
import { type Replacement, replaceText } from "./replace-text.ts";
import { diffPath, shownPath } from "./shown-path.ts";
import { encodeText } from "./text-encoding.ts";
import { readTextFile } from "./text-file.ts";

interface EditFileArguments {
  file_path: string;
  old_string: string;
  new_string: string;
  replace_all?: boolean;
  description?: string;
}

interface PlannedEdit {
  realPath: string;
  before: string;
  after: string;
  oldBytes: Buffer;
  bytes: Buffer;
  stats: BigIntStats;
  count: number;
  /** Since the model read it. */
  hasChanged: boolean;
}

const changedNote = "[the file was changed since you last read it: read it again before more edits]";
const shownNote = "[the file was changed after this edit had been shown for a decision]";

export const editFileTool: Tool = defineTool<EditFileArguments>({
  name: "edit_file",
  description:
    "Replaces a text in a file, exactly and literally. `old_string` must stand in the file just once, or `replace_all` be true. " +
    "A line feed matches the line end of the file, whichever it is. Answers with a diff.",
  parameters: {
    type: "object",
    properties: {
      file_path: { type: "string", description: "Absolute, or relative to the Workspace." },
      old_string: {
        type: "string",
        description: "What is replaced, without line numbers, with enough around it to be unique.",
      },
      new_string: { type: "string", description: "What stands there afterwards, literally." },
      replace_all: { type: "boolean", description: "Replace every occurrence. Default false." },
      description: { type: "string", description: "One sentence for the person watching: what this changes." },
    },
    required: ["file_path", "old_string", "new_string"],
    additionalProperties: false,
  },
  permission: "rw",
  timeoutMs: environmentDefaults.fileToolTimeoutMs,
  preview: async (args, context) => {
    const { files, readLedger } = servicesOf(context);
    const planned = await planEdit(args, context);
    readLedger.noteShown(context.toolCallId, planned.oldBytes);
    const name = shownPath(files, args.file_path, planned.realPath);
    return { summary: args.description ?? `Edit ${name}.`, diff: await diffOf(args, context, planned) };
  },
  execute: (args, context) => {
    const { files } = servicesOf(context);
    return withLock(files.resolveForWriting(args.file_path), () => applyEdit(args, context));
  },
});

async function applyEdit(args: EditFileArguments, context: ToolContext): Promise<ToolResult> {
  const { readLedger } = servicesOf(context);
  const planned = await planEdit(args, context);
  // Before the writing: what was done is never told as failed.
  const diff = await diffOf(args, context, planned);
  context.signal.throwIfAborted();
  const { realPath, oldBytes, bytes, stats } = planned;
  const changedSinceShown = readLedger.hasChangedSinceShown(context.toolCallId, realPath, oldBytes);
  await writeAtomically({ path: args.file_path, realPath, bytes, seen: stats, signal: context.signal });
  // What someone else changed is still to be read.
  if (!planned.hasChanged) readLedger.note(realPath, bytes);
  const times = planned.count === 1 ? "" : `${planned.count} replacements.\n`;
  const output = times + diff;
  if (planned.hasChanged) return { output, note: changedNote };
  return changedSinceShown ? { output, note: shownNote } : { output };
}

function diffOf(args: EditFileArguments, context: ToolContext, planned: PlannedEdit): Promise<string> {
  const { files } = servicesOf(context);
  const { realPath, before, after } = planned;
  const masked = (text: string): string => files.masked(text);
  return fileDiff({ path: diffPath(files, args.file_path, realPath), before, after, masked });
}

async function planEdit(args: EditFileArguments, context: ToolContext): Promise<PlannedEdit> {
  const { files, readLedger } = servicesOf(context);
  const realPath = files.resolveForWriting(args.file_path);
  checkStrings(args);
  const file = await readTextFile(files, args.file_path, realPath);
  const hasChanged = readLedger.hasChanged(realPath, file.bytes);
  const all = args.replace_all === true;
  const replaced = replaceText(file.text, { old: args.old_string, new: args.new_string, all });
  if (replaced.status !== "replaced") {
    const words = whyNot(args, file.text, replaced);
    throw new ToolError(hasChanged ? `${words}\n${changedNote}` : words);
  }
  if (files.tearsSecret(file.text, replaced.spans)) {
    throw new ToolError(
      `\`old_string\` stands in ${args.file_path} where it holds a part of a secret, which you see as ${mask}, and not the whole: leave all of the secret out of it.`,
    );
  }
  if (hasChanged && all) {
    throw new ToolError(`${args.file_path} was changed since you last read it: read it again first.`);
  }
  const bytes = encodeText(replaced.text, file);
  if (bytes === undefined) {
    throw new ToolError(
      `${args.file_path} is no UTF-8 but Windows-1252 (Latin-1), which cannot hold some characters of \`new_string\`: leave them out, or turn it into UTF-8 by a command.`,
    );
  }
  const { stats, text: before, bytes: oldBytes } = file;
  const { text: after, count } = replaced;
  return { realPath, before, after, oldBytes, bytes, stats, count, hasChanged };
}

/** @throws ToolError */
function checkStrings({ old_string: old, new_string: replacement }: EditFileArguments): void {
  if (old === "") throw new ToolError("`old_string` is empty: give the text to replace, or use write_file.");
  if (old === replacement) throw new ToolError("`old_string` and `new_string` are the same: nothing to do.");
  for (const [name, text] of Object.entries({ old_string: old, new_string: replacement })) {
    if (!text.isWellFormed())
      throw new ToolError(`\`${name}\` holds half a character (a lone surrogate): leave it out.`);
    if (text.includes("\0")) throw new ToolError(`\`${name}\` holds a NUL, which no text file does: leave it out.`);
  }
}

function whyNot(args: EditFileArguments, text: string, replaced: Exclude<Replacement, { status: "replaced" }>): string {
  const { file_path: path, old_string: old } = args;
  if (replaced.status === "too large") return `This would make ${path} too large, or change too much of it at once.`;
  if (replaced.status === "not found") {
    const hint = nearMiss(text, old) ?? "Read the file and copy the text exactly, without line numbers.";
    return `\`old_string\` was not found in ${path}. ${hint}`;
  }
  const { count, lines } = replaced;
  const more = count > lines.length ? ", …" : "";
  return (
    `\`old_string\` stands ${count} times in ${path} (lines ${lines.join(", ")}${more}): ` +
    "add lines around it, or set replace_all."
  );
}
