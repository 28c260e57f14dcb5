/** Asks the person at the terminal, with one key. */
import type { ApproveFn, Clock, Preview } from "@coxswain/core";
import type { OmniMessage, ToolCallPayload } from "@coxswain/protocol";
import type { Decision } from "./approval.ts";
import type { Screen } from "./output/screen.ts";
import { showHidden } from "./terminal-text.ts";
import { callKey, previewLines, wholeCall } from "./tool-call-text.ts";
import { KeyAnswer } from "./typing/key-answer.ts";
import type { Keyboard } from "./typing/keyboard.ts";
import { readKeys } from "./typing/read-keys.ts";

export interface AskOptions {
  /** What a call would do. */
  preview(toolCall: OmniMessage<ToolCallPayload>): Promise<Preview | undefined>;
  screen: Screen;
  keyboard: Keyboard;
  clock: Clock;
  /** Nobody waits for an answer after it. */
  signal: AbortSignal;
}

type Answer = Decision | "always";

const ctrlD = "\x04";
const meanings: Readonly<Record<Answer, string>> = {
  allow: "allow",
  deny: "deny",
  always: "always allow exactly this",
};
const hint = "(y, n or a alone counts, a second after anything else was typed; Enter need not follow)";

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

async function ask(options: AskOptions, toolCall: OmniMessage<ToolCallPayload>): Promise<Answer> {
  const { screen, keyboard } = options;
  // Before the question is seen: what is typed meanwhile is no answer, and must not be echoed either.
  const stop = keyboard.listen({ keys: () => undefined });
  try {
    await screen.line(`${screen.style.yellow("[approval]")} ${wholeCall(toolCall.payload)}`);
    // Said by the Environment, which looked; what is shown above is what the model wrote, and what counts.
    const preview = await options.preview(toolCall).catch(() => undefined);
    for (const line of previewLines(preview, toolCall.payload)) await screen.line(line);
    const choices = choicesOf(toolCall.payload.name, screen);
    await screen.line(choices);
    const answer = await readAnswer(options, choices);
    // What becomes of the call is told later: another question may come first.
    if (!options.signal.aborted) await screen.line(screen.style.dim(`> ${meanings[answer]}`));
    return answer;
  } finally {
    stop();
  }
}

function choicesOf(toolName: string, { style: { bold } }: Screen): string {
  return `${showHidden(toolName)}?  ${bold("y")} allow  ${bold("n")} deny  ${bold("a")} ${meanings.always}`;
}

async function readAnswer({ keyboard, signal, clock, screen }: AskOptions, choices: string): Promise<Answer> {
  let hasHinted = false;
  const keyAnswer = new KeyAnswer<Answer>({
    clock,
    lastKeyAtMs: keyboard.lastKeyAtMs,
    read: answerOf,
    onOther: () => {
      if (!hasHinted) void screen.line(`${hint}\n${choices}`);
      hasHinted = true;
    },
  });
  const answer = await readKeys<Answer>({
    keyboard,
    signal,
    keys: (text, done) => (text === ctrlD ? done("deny") : keyAnswer.keys(text, done)),
    otherwise: () => "deny",
  });
  keyAnswer.stop();
  keyboard.understood();
  return answer;
}

/** A word that was not entered may be the beginning of another one. */
function answerOf(words: string, isEntered: boolean): Answer | undefined {
  if (words === "y" || (isEntered && words === "yes")) return "allow";
  if (words === "a" || (isEntered && words === "always")) return "always";
  if (words === "n" || (isEntered && words === "no")) return "deny";
  return undefined;
}
