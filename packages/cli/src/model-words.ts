/** The names of models in what the `cox models` commands say. */
import type { ModelName } from "@coxswain/core";
import { inOneLine } from "./terminal-text.ts";

export function modelWords({ provider, modelId }: ModelName): string {
  return inOneLine(`${provider} ${modelId}`);
}

/** As it can be typed. */
export function modelArguments({ provider, modelId }: ModelName): string {
  return [provider, modelId].map(shellWord).join(" ");
}

function shellWord(text: string): string {
  const shown = inOneLine(text);
  return /^[\w./:@%+=,-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`;
}
