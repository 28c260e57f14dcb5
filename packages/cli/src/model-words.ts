/** The names of models in what the `cox models` commands say. */
import type { ModelName } from "@coxswain/core";
import { shellWord } from "./shell-word.ts";
import { inOneLine } from "./terminal-text.ts";

export function modelWords({ provider, modelId }: ModelName): string {
  return inOneLine(`${provider} ${modelId}`);
}

/** As it can be typed. */
export function modelArguments({ provider, modelId }: ModelName): string {
  return [provider, modelId].map((name) => shellWord(inOneLine(name))).join(" ");
}
