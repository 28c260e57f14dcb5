/** `cox models default` and `cox models remove`. */
import { type ModelName, removeModel, setDefaultModel } from "@coxswain/core";
import { exitCodes } from "../exit-code.ts";
import { modelArguments, modelWords } from "../model-words.ts";
import { type ProjectChoice, projectConfigFile } from "../open-session.ts";
import { openTerminal, type Terminal } from "../terminal.ts";

export type ModelsChangeFlags = ProjectChoice;

/** @returns The exit code. */
export function modelsDefault(name: ModelName, flags: ModelsChangeFlags): Promise<number> {
  return telling(async (say) => {
    const path = projectConfigFile(flags);
    await setDefaultModel(path, name);
    await say(`${modelWords(name)} is the default model now (${path})`);
    await say(`next: cox models test ${modelArguments(name)}`);
  });
}

/** @returns The exit code. */
export function modelsRemove(name: ModelName, flags: ModelsChangeFlags): Promise<number> {
  return telling(async (say) => {
    const path = projectConfigFile(flags);
    const { wasDefault } = await removeModel(path, name);
    await say(`removed ${modelWords(name)} from ${path}`);
    if (wasDefault) {
      await say("it was the default, so there is none now; choose one with cox models default <provider> <model_id>");
    }
  });
}

function telling(work: (say: (line: string) => Promise<void>) => Promise<void>): Promise<number> {
  const terminal: Terminal = openTerminal();
  return terminal.lifetime.run(async () => {
    terminal.lifetime.beforeEnd(() => terminal.screen.flush());
    await work((line) => terminal.screen.answer(`${line}\n`));
    return exitCodes.done;
  });
}
