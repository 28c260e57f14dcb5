/** A few words that name a conversation. Never enters its history or its Trace. */
import { isPayload, type OmniMessage, readSteering, userText } from "@coxswain/protocol";
import type { LLMInterface } from "../engine/ports.ts";

/** Characters of a title, and of what the model is shown to find one. */
const maxTitleLength = 80;
const maxExcerptLength = 2_000;
const maxTexts = 4;

const instruction =
  "Give this conversation a title of at most six words, in its own language. Answer with the title alone.";

/**
 * `null` when nothing was said, or the model gives none before the signal.
 *
 * @param seen What a reader has seen, oldest first; only its beginning is read.
 */
export async function generateTitle(
  openModel: () => LLMInterface,
  seen: AsyncIterable<OmniMessage>,
  signal: AbortSignal,
): Promise<string | null> {
  const texts: string[] = [];
  for await (const message of seen) {
    if (!isPayload(message, "text") || message.payload.text.trim() === "") continue;
    const { role, text } = message.payload;
    texts.push(`${role}: ${readSteering(text) ?? text}`);
    if (texts.length === maxTexts) break;
  }
  if (texts.length === 0 || signal.aborted) return null;
  const excerpt = texts.join("\n\n").slice(0, maxExcerptLength).toWellFormed();
  const prompt = userText(`${instruction}\n\n${excerpt}`);
  return new Promise((resolve) => {
    // A model that does not hear the signal is not waited for, and one that throws has not answered.
    const giveUp = (): void => resolve(null);
    signal.addEventListener("abort", giveUp, { once: true });
    void answer(openModel, prompt, signal)
      .then(resolve, giveUp)
      .finally(() => signal.removeEventListener("abort", giveUp));
  });
}

async function answer(openModel: () => LLMInterface, prompt: OmniMessage, signal: AbortSignal): Promise<string | null> {
  const stream = openModel().streamGenerate({ newMessages: [prompt], signal });
  let title = "";
  for (;;) {
    const result = await stream.next();
    if (result.done === true) return result.value.status === "completed" && title !== "" ? title : null;
    const { payload } = result.value;
    if (payload.type === "text" && payload.role === "assistant" && title === "") title = tidy(payload.text);
  }
}

function tidy(text: string): string {
  const line = text.trim().split("\n")[0] ?? "";
  const bare = line.replaceAll(/\p{Cc}/gu, "").replaceAll(/^["'“”*#\s]+|["'“”*\s]+$/gu, "");
  return Array.from(bare).slice(0, maxTitleLength).join("").toWellFormed();
}
