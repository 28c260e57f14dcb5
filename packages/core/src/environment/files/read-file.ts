import type { FileHandle } from "node:fs/promises";
import { readUpTo } from "../../shared/regular-file.ts";
import { environmentDefaults } from "../defaults.ts";
import { defineTool } from "../define-tool.ts";
import { headOf } from "../../shared/cut.ts";
import type { Tool, ToolContext, ToolResult } from "../tool.ts";
import { servicesOf } from "../tool-context.ts";
import { ToolError } from "../tool-error.ts";
import { fileError } from "./file-error.ts";
import { imageSize, imageType } from "./image-type.ts";
import { openFile } from "./open-file.ts";
import { decodeText, formNote, isUtf16 } from "./text-encoding.ts";
import { maxWholeBytes, maxWholeWords } from "./whole-file.ts";

interface ReadFileArguments {
  file_path: string;
  offset?: number;
  limit?: number;
  description?: string;
}

const maxImageBytes = 5 * 1024 * 1024;
/** Providers refuse what is wider or higher. */
const maxImagePixels = 8000;
const defaultLines = 2000;
const linesAtOnce = 500;
const maxLineLength = 2000;
/** Leaves room for the words at the end. */
const maxTextLength = environmentDefaults.maxOutputLength - 1000;

export const readFileTool: Tool = defineTool<ReadFileArguments>({
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
  timeoutMs: environmentDefaults.fileToolTimeoutMs,
  execute: readFile,
});

interface Page {
  /** 1-based. */
  first: number;
  count: number;
}

async function readFile(args: ReadFileArguments, context: ToolContext): Promise<ToolResult> {
  const { files, readLedger } = servicesOf(context);
  const realPath = files.resolve(args.file_path);
  const { handle } = await openFile(files, args.file_path, realPath);
  try {
    const start = await readUpTo(handle, maxWholeBytes);
    const isWhole = start.length <= maxWholeBytes;
    readLedger.note(realPath, isWhole ? start : undefined);
    const image = imageType(start);
    if (image !== undefined) return imageResult(args.file_path, image, start);
    if (start.subarray(0, 1024).includes("%PDF-")) return { output: pdfWords(isWhole ? start.length : undefined) };
    const masked = (line: string): string => files.masked(line);
    const page = { first: args.offset ?? 1, count: args.limit ?? defaultLines };
    if (!isWhole && isUtf16(start)) {
      throw new ToolError(
        `${args.file_path} is UTF-16 and larger than ${maxWholeWords}: turn it into UTF-8 by a command.`,
      );
    }
    if (!isWhole && start.includes(0)) return { output: `[binary file, larger than ${maxWholeWords}: not shown]` };
    if (!isWhole) return await readPage(largeFileLines(handle, context.signal), page, masked);
    return await textResult(start, page, masked);
  } catch (error) {
    throw fileError(args.file_path, error);
  } finally {
    await handle.close();
  }
}

type Mask = (line: string) => string;

async function textResult(bytes: Buffer, page: Page, masked: Mask): Promise<ToolResult> {
  const decoded = decodeText(bytes);
  if (decoded === undefined) return { output: `[binary file, ${bytes.length} bytes: not shown]` };
  if (decoded.text === "") return { output: "[the file is empty]" };
  const { index, skipped } = skipLines(decoded.text, page.first - 1);
  const result = await readPage(linesFrom(decoded.text, index), page, masked, skipped);
  return { ...result, note: [result.note, formNote(decoded)].filter(Boolean).join("\n") };
}

function imageResult(path: string, type: string, bytes: Buffer): ToolResult {
  if (bytes.length > maxImageBytes) {
    throw new ToolError(`${path} is an image of more than ${maxImageBytes} bytes: make it smaller to have it shown.`);
  }
  const size = imageSize(type, bytes);
  if (size === undefined) throw new ToolError(`${path} begins as ${type} but is damaged or cut off: not shown.`);
  const { width, height } = size;
  if (Math.max(width, height) > maxImagePixels) {
    throw new ToolError(
      `${path} has ${width} × ${height} pixels, more than ${maxImagePixels} a side: make it smaller to have it shown.`,
    );
  }
  return {
    output: `[${type}, ${width} × ${height} pixels, ${bytes.length} bytes]`,
    images: [`data:${type};base64,${bytes.toString("base64")}`],
  };
}

function pdfWords(length: number | undefined): string {
  return `[a PDF${length === undefined ? "" : ` of ${length} bytes`}: not shown; turn it into text or images by a command]`;
}

/** Lines as they come, some at a time. */
type Lines = Iterable<string[]> | AsyncIterable<string[]>;

/** Where the next line begins after so many, or after all that there are. */
function skipLines(text: string, count: number): { index: number; skipped: number } {
  let index = 0;
  let skipped = 0;
  for (; skipped < count && index < text.length; skipped++) {
    const end = text.indexOf("\n", index);
    index = end < 0 ? text.length : end + 1;
  }
  return { index, skipped };
}

/** A page is a small part of most: what comes after it is not taken apart. */
function* linesFrom(text: string, index: number): Generator<string[]> {
  let lines: string[] = [];
  for (let start = index; start < text.length; ) {
    const end = text.indexOf("\n", start);
    const next = end < 0 ? text.length : end;
    lines.push(text.slice(start, next));
    if (lines.length === linesAtOnce) {
      yield lines;
      lines = [];
    }
    start = next + 1;
  }
  yield lines;
}

/** Of a file that is not taken whole, as they come. In UTF-8; a line is cut, not gathered, when it does not end. */
async function* largeFileLines(handle: FileHandle, signal: AbortSignal): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  const chunk = Buffer.allocUnsafe(256 * 1024);
  let line = "";
  for (let position = 0; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const [first = "", ...rest] = decoder.decode(chunk.subarray(0, bytesRead), { stream: true }).split("\n");
    if (line.length <= 2 * maxLineLength) line += first;
    const last = rest.pop();
    if (last === undefined) continue;
    yield [line, ...rest];
    line = last;
  }
  if (line !== "") yield [line];
}

/**
 * What says that there is more stands outside of the limit of the output.
 *
 * @param skipped How many lines come before these.
 */
async function readPage(lines: Lines, page: Page, masked: Mask, skipped = 0): Promise<ToolResult> {
  const shown: string[] = [];
  let length = 0;
  let number = skipped;
  for await (const some of lines) {
    if (number + some.length < page.first) {
      number += some.length;
      continue;
    }
    for (const line of some) {
      number++;
      if (number < page.first) continue;
      const text = numbered(number, line.endsWith("\r") ? line.slice(0, -1) : line, masked);
      if (shown.length >= page.count || (length + text.length > maxTextLength && shown.length > 0)) {
        return { output: shown.join("\n"), note: `[more lines follow: go on with offset ${number}]` };
      }
      shown.push(text);
      length += text.length + 1;
    }
  }
  if (shown.length === 0) throw new ToolError(`The file has ${number} lines: offset ${page.first} is past its end.`);
  return { output: shown.join("\n") };
}

function numbered(number: number, line: string, masked: Mask): string {
  const text = line.length > maxLineLength ? `${headOf(masked(line), maxLineLength)} [… the line goes on]` : line;
  return `${String(number).padStart(6)}\t${text}`;
}
