/** One line of what is typed, edited as the terminal does it. */
import { createInterface } from "node:readline";

/** @returns Without blanks around it; `undefined` when the input ends instead, or somebody interrupts. */
export async function readLine(input: NodeJS.ReadableStream, signal: AbortSignal): Promise<string | undefined> {
  const lines = createInterface({ input, terminal: false, signal });
  try {
    // Not `question`: it is deaf to the end of the input, and to the words in front of it.
    const line = await new Promise<string | undefined>((resolve) => {
      lines.once("line", resolve);
      lines.once("close", () => resolve(undefined));
    });
    return line?.trim();
  } finally {
    lines.close();
  }
}
