import { defineTool } from "../define-tool.ts";
import type { Tool, ToolContext, ToolLimits, ToolResult } from "../tool.ts";
import { servicesOf } from "../tool-context.ts";
import { writeAtomically } from "./atomic-write.ts";
import { fileDiff } from "./file-diff.ts";
import { ToolError } from "../tool-error.ts";
import { replaceText } from "./replace-text.ts";
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
  bytes: Buffer;
  count: number;
  hasChanged: boolean;
}

const changedNote =
  "[the file had been changed by someone else since you last saw it: read it again before more edits]";

export function editFileTool(limits: ToolLimits): Tool {
  return defineTool<EditFileArguments>({
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
    ...limits,
    preview: async (args, context) => {
      const planned = await planEdit(args, context);
      const diff = await fileDiff(args.file_path, planned.before, planned.after);
      return { summary: args.description ?? `Edit ${args.file_path}.`, diff };
    },
    execute: (args, context) => {
      const { files, fileLock } = servicesOf(context);
      return fileLock.run(files.resolve(args.file_path), () => applyEdit(args, context));
    },
  });
}

async function applyEdit(args: EditFileArguments, context: ToolContext): Promise<ToolResult> {
  const planned = await planEdit(args, context);
  context.signal.throwIfAborted();
  await writeAtomically(args.file_path, planned.realPath, planned.bytes);
  servicesOf(context).readLedger.note(planned.realPath, planned.bytes);
  const times = planned.count === 1 ? "" : `${planned.count} replacements.\n`;
  const output = times + (await fileDiff(args.file_path, planned.before, planned.after));
  return planned.hasChanged ? { output, note: changedNote } : { output };
}

async function planEdit(args: EditFileArguments, context: ToolContext): Promise<PlannedEdit> {
  const { files, readLedger } = servicesOf(context);
  const realPath = files.resolve(args.file_path);
  if (args.old_string === "")
    throw new ToolError("`old_string` is empty: give the text to replace, or use write_file.");
  if (args.old_string === args.new_string)
    throw new ToolError("`old_string` and `new_string` are the same: nothing to do.");
  const file = await readTextFile(files, args.file_path, realPath);
  const hasChanged = readLedger.hasChanged(realPath, file.bytes);
  const replaced = replaceText(file.text, {
    old: args.old_string,
    new: args.new_string,
    all: args.replace_all === true,
  });
  if (!replaced.ok) {
    const words =
      replaced.reason === "not found"
        ? notFound(args, file.text)
        : `\`old_string\` stands ${replaced.count} times in ${args.file_path}: add lines around it, or set replace_all.`;
    throw new ToolError(hasChanged ? `${words}\n${changedNote}` : words);
  }
  const bytes = encodeText({ ...file, text: replaced.text });
  if (bytes === undefined) {
    throw new ToolError(`${args.file_path} is a Latin-1 file, which cannot hold some characters of \`new_string\`.`);
  }
  return { realPath, before: file.text, after: replaced.text, bytes, count: replaced.count, hasChanged };
}

function notFound(args: EditFileArguments, text: string): string {
  const words = `\`old_string\` was not found in ${args.file_path}.`;
  const line = similarLine(text, args.old_string);
  return line === undefined
    ? `${words} Read the file and copy the text exactly, without line numbers.`
    : `${words} Line ${line} is like it but for white space: copy the text exactly, with its indentation.`;
}

const maxComparedLines = 1_000_000;

/** 1-based number of the first line from which on the text is the same but for white space. */
function similarLine(text: string, wanted: string): number | undefined {
  const squeeze = (line: string): string => line.replace(/\s+/g, " ").trim();
  const needle = wanted.trim().split("\n").map(squeeze);
  const lines = text.split("\n").map(squeeze);
  // A hint is not worth minutes.
  if (needle.length * lines.length > maxComparedLines) return undefined;
  const index = lines.findIndex((_, start) => needle.every((line, offset) => lines[start + offset] === line));
  return index < 0 ? undefined : index + 1;
}
