/** What a person has said of the model, before it is opened: never taken for something else, and told with what helps. */
import { knownProviders, loadProjectConfig, type ModelName, type ProjectConfig } from "@coxswain/core";
import { CliUsageError } from "./exit-code.ts";
import { modelArguments } from "./model-words.ts";

export interface ModelChoice {
  provider: string | undefined;
  modelId: string | undefined;
}

const shownModels = 12;

/** @throws CliUsageError, ConfigError */
export async function checkModelChoice(path: string, { provider, modelId }: ModelChoice): Promise<void> {
  const config = await loadProjectConfig(path);
  const models = namesIn(config);
  if (provider === undefined && modelId === undefined) {
    if (config.defaultModel !== undefined || models.length === 0) return;
    throw new CliUsageError(
      `${path} has no default model; choose one with cox models default <provider> <model_id>: ${listed(models)}`,
    );
  }
  const fitting = models.filter((name) => name.modelId === modelId);
  if (provider === undefined && fitting.length > 1) {
    const choices = fitting.map((name) => JSON.stringify(name.provider)).join(", ");
    throw new CliUsageError(
      `the model ${JSON.stringify(modelId)} is configured of ${fitting.length} providers; say which with --provider: ${choices}`,
    );
  }
  if (provider === undefined || modelId !== undefined || provider === "offline") return;
  const isKnown = Object.hasOwn(knownProviders, provider) || models.some((name) => name.provider === provider);
  if (isKnown) return;
  const configured = models.length === 0 ? "no models are configured" : `configured are ${listed(models)}`;
  throw new CliUsageError(
    `there is no provider ${JSON.stringify(provider)}; ${configured}; known providers are ${Object.keys(knownProviders).join(", ")}`,
  );
}

/** Each once. */
function namesIn({ defaultModel, models }: ProjectConfig): ModelName[] {
  const all = defaultModel === undefined ? models : [defaultModel, ...models];
  return all.filter(
    (name, index) =>
      all.findIndex((other) => other.provider === name.provider && other.modelId === name.modelId) === index,
  );
}

function listed(models: readonly ModelName[]): string {
  const shown = models.slice(0, shownModels).map(modelArguments).join(", ");
  const more = models.length - shownModels;
  return more > 0 ? `${shown} and ${more} more` : shown;
}
