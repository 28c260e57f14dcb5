import type { FileHandle } from "node:fs/promises";
import { readUpTo } from "../../shared/regular-file.ts";
import { environmentDefaults } from "../defaults.ts";
import { defineTool } from "../define-tool.ts";
import { headOf } from "../../shared/cut.ts";
import type { Tool, ToolContext, ToolLimits, ToolResult } from "../tool.ts";
import { servicesOf } from "../tool-context.ts";
import { ToolError } from "../tool-error.ts";
import { imageType } from "./image-type.ts";
import { openFile } from "./open-file.ts";
import { decodeText } from "./text-encoding.ts";

interface ReadFileArguments {
  file_path: string;
  offset?: number;
  limit?: number;
  description?: string;
}

/** Files up to this size are taken whole; of larger ones the lines are read as they come. */
const maxWholeBytes = 8 * 1024 * 1024;
const maxImageBytes = 5 * 1024 * 1024;
const defaultLines = 2000;
const maxLineLength = 2000;
/** Leaves room for the words at the end. */
const maxTextLength = environmentDefaults.maxOutputLength - 1000;

export function readFileTool(limits: ToolLimits): Tool {
  return defineTool<ReadFileArguments>({
    name: "read_file",
    description:
      "Reads a text file: its lines, numbered. Line number and a tab stand before each line and do not belong to the file. " +
      "Images (PNG, JPEG, GIF, WebP) are shown.",
    parameters: {
      type: "object",
      properties: {
        file_path: { type: "string", description: "Absolute, or relative to the Workspace." },
        offset: { type: "integer", minimum: 1, description: "Number of the first line. Default 1." },
        limit: { type: "integer", minimum: 1, description: `Lines at most. Default ${defaultLines}.` },
        description: { type: "string", description: "One sentence for the person watching: why this is read." },
      },
      required: ["file_path"],
      additionalProperties: false,
    },
    permission: "r",
    ...limits,
    execute: readFile,
  });
}

async function readFile(args: ReadFileArguments, context: ToolContext): Promise<ToolResult> {
  const { files, readLedger } = servicesOf(context);
  const realPath = files.resolve(args.file_path);
  const { handle } = await openFile(files, args.file_path, realPath);
  try {
    const start = await readUpTo(handle, maxWholeBytes);
    const whole = start.length <= maxWholeBytes;
    if (whole) readLedger.note(realPath, start);
    const image = imageType(start);
    if (image !== undefined) return imageResult(args.file_path, image, start);
    const page = { first: args.offset ?? 1, count: args.limit ?? defaultLines };
    if (!whole) return { output: await readPage(largeFileLines(handle, context.signal), page) };
    const decoded = decodeText(start);
    if (decoded === undefined) return { output: `[binary file, ${start.length} bytes: not shown]` };
    if (decoded.text === "") return { output: "[the file is empty]" };
    return { output: await readPage(linesOf(decoded.text), page) };
  } finally {
    await handle.close();
  }
}

function imageResult(path: string, type: string, bytes: Buffer): ToolResult {
  if (bytes.length > maxImageBytes) {
    throw new ToolError(`${path} is an image of more than ${maxImageBytes} bytes: make it smaller to have it shown.`);
  }
  return {
    output: `[${type}, ${bytes.length} bytes]`,
    images: [`data:${type};base64,${bytes.toString("base64")}`],
  };
}

function* linesOf(text: string): Generator<string> {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  yield* lines;
}

/** In UTF-8; a line is cut, not gathered, when it does not end. */
async function* largeFileLines(handle: FileHandle, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const chunk = Buffer.allocUnsafe(256 * 1024);
  let line = "";
  for (let position = 0; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position);
    if (bytesRead === 0) break;
    const bytes = chunk.subarray(0, bytesRead);
    if (position === 0 && bytes.includes(0)) throw new ToolError("The file is binary and too large to be shown.");
    position += bytesRead;
    const lines = decoder.decode(bytes, { stream: true }).split("\n");
    for (const [index, part] of lines.entries()) {
      if (line.length <= maxLineLength) line += part;
      if (index === lines.length - 1) break;
      yield line;
      line = "";
    }
  }
  if (line !== "") yield line;
}

async function readPage(
  lines: Iterable<string> | AsyncIterable<string>,
  page: { first: number; count: number },
): Promise<string> {
  const shown: string[] = [];
  let length = 0;
  let number = 0;
  for await (const line of lines) {
    number++;
    if (number < page.first) continue;
    const text = numbered(number, line.endsWith("\r") ? line.slice(0, -1) : line);
    if (shown.length >= page.count || (length + text.length > maxTextLength && shown.length > 0)) {
      return `${shown.join("\n")}\n[more lines follow: go on with offset ${number}]`;
    }
    shown.push(text);
    length += text.length + 1;
  }
  if (shown.length === 0) throw new ToolError(`The file has ${number} lines: offset ${page.first} is past its end.`);
  return shown.join("\n");
}

function numbered(number: number, line: string): string {
  const text = line.length > maxLineLength ? `${headOf(line, maxLineLength)} [… the line goes on]` : line;
  return `${String(number).padStart(6)}\t${text}`;
}
