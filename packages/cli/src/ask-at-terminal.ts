/** Asks the person at the terminal, with one key. */
import type { ApproveFn, Preview } from "@coxswain/core";
import type { OmniMessage, ToolCallPayload } from "@coxswain/protocol";
import type { Decision } from "./approval.ts";
import type { Screen } from "./output/screen.ts";
import { showHidden } from "./terminal-text.ts";
import { callKey, previewLines, wholeCall } from "./tool-call-text.ts";

export interface AskOptions {
  /** What a call would do. */
  preview(toolCall: OmniMessage<ToolCallPayload>): Promise<Preview | undefined>;
  screen: Screen;
  stdin: NodeJS.ReadStream;
  /** Nobody waits for an answer after it. */
  signal: AbortSignal;
  /** Ctrl-C arrives as a key while a key is waited for. */
  interrupt(): void;
}

const ctrlC = "\x03";
const ctrlD = "\x04";

/** One question at a time. */
export function askAtTerminal(options: AskOptions): ApproveFn {
  const always = new Set<string>();
  return async (toolCall) => {
    const key = callKey(toolCall.payload);
    if (always.has(key)) return "allow";
    const answer = await options.screen.asking(() => ask(options, toolCall));
    if (answer === "always") always.add(key);
    return answer === "deny" ? "deny" : "allow";
  };
}

async function ask(options: AskOptions, toolCall: OmniMessage<ToolCallPayload>): Promise<Decision | "always"> {
  const { screen, stdin } = options;
  // Before the question is seen: an answer typed at once must not be echoed or wait for a line's end.
  stdin.setRawMode(true);
  await screen.line(`${screen.style.yellow("[approval]")} ${wholeCall(toolCall.payload)}`);
  // Said by the Environment, which looked; what is shown above is what the model wrote, and what counts.
  const preview = await options.preview(toolCall).catch(() => undefined);
  for (const line of previewLines(preview)) await screen.line(line);
  const { bold } = screen.style;
  const name = showHidden(toolCall.payload.name);
  await screen.line(`${name}?  ${bold("y")} allow  ${bold("n")} deny  ${bold("a")} always allow exactly this`);
  return readAnswer(options);
}

/** Restores the terminal, whatever ends the wait. */
function readAnswer(options: AskOptions): Promise<Decision | "always"> {
  const { stdin, signal } = options;
  return new Promise((resolve) => {
    const finish = (answer: Decision | "always"): void => {
      stdin.off("data", onData);
      stdin.off("end", onEnd);
      signal.removeEventListener("abort", onEnd);
      stdin.setRawMode(false);
      stdin.pause();
      resolve(answer);
    };
    const onEnd = (): void => finish("deny");
    const onData = (bytes: Buffer): void => {
      const text = bytes.toString("utf8");
      if (text.includes(ctrlC)) {
        finish("deny");
        options.interrupt();
        return;
      }
      const answer = answerOf(text.trim().toLowerCase());
      if (answer !== undefined) finish(answer);
    };
    stdin.on("data", onData);
    stdin.once("end", onEnd);
    signal.addEventListener("abort", onEnd);
    if (signal.aborted) onEnd();
    else stdin.resume();
  });
}

/** A longer text, such as one that was pasted or typed ahead, is no answer. */
function answerOf(text: string): Decision | "always" | undefined {
  if (text === "y" || text === "yes") return "allow";
  if (text === "a" || text === "always") return "always";
  if (text === "n" || text === "no" || text === ctrlD) return "deny";
  return undefined;
}
