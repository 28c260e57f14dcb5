/** The prompt: from the arguments, from standard input, or both. */
import { CliUsageError } from "./exit-code.ts";
import type { StatusLines } from "./output/screen.ts";

export interface PromptSources {
  /** As typed. `-` stands for standard input. */
  args: readonly string[];
  stdin: NodeJS.ReadStream;
  status: StatusLines;
  signal: AbortSignal;
}

const silentMs = 2000;
/** More than any model takes. */
const maxInputBytes = 16 * 1024 * 1024;

/**
 * Standard input is read when there is no argument, or one of them is `-`; never otherwise: an inherited pipe that
 * nobody closes must not hold the command up.
 *
 * @returns Empty when nothing was given.
 * @throws CliUsageError for a `-` at a terminal's silence, or input that is no text
 */
export async function readPrompt({ args, stdin, status, signal }: PromptSources): Promise<string> {
  const words = args.filter((word) => word !== "-").join(" ");
  const wantsInput = args.includes("-") || (args.length === 0 && !stdin.isTTY);
  if (!wantsInput) return words.trim();
  const input = await readAll(stdin, status, signal);
  return [words, input]
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .join("\n\n");
}

async function readAll(stdin: NodeJS.ReadStream, status: StatusLines, signal: AbortSignal): Promise<string> {
  const words = "waiting for the prompt on standard input; end it with Ctrl-D, or give it as an argument";
  const reminder = setTimeout(() => void status.line(words), stdin.isTTY ? 0 : silentMs);
  const stop = (): void => void stdin.destroy();
  signal.addEventListener("abort", stop);
  const chunks: Buffer[] = [];
  try {
    if (!signal.aborted) await collect(stdin, chunks);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearTimeout(reminder);
    signal.removeEventListener("abort", stop);
  }
  return decode(Buffer.concat(chunks));
}

async function collect(stdin: NodeJS.ReadStream, chunks: Buffer[]): Promise<void> {
  let length = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk as Uint8Array);
    length += bytes.length;
    if (length > maxInputBytes) {
      throw new CliUsageError(
        `standard input is longer than ${maxInputBytes / 1024 / 1024} MiB; put it into a file and name that in the prompt`,
      );
    }
    chunks.push(bytes);
  }
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new CliUsageError("standard input is no UTF-8 text; name the file in the prompt instead");
  }
}
