/** `cox models list`: what is configured, and where each value comes from. */
import {
  type DescribedValue,
  describeModels,
  loadProjectConfig,
  type ModelDescription,
  type TokenPrice,
} from "@coxswain/core";
import { exitCodes } from "../exit-code.ts";
import { modelWords } from "../model-words.ts";
import { checkProject, type ProjectChoice, projectConfigFile } from "../open-session.ts";
import { inOneLine, jsonLine, labelled } from "../terminal-text.ts";
import { openTerminal, type Terminal } from "../terminal.ts";

export interface ModelsListFlags extends ProjectChoice {
  json?: boolean | undefined;
}

/** @returns The exit code. */
export function modelsList(flags: ModelsListFlags): Promise<number> {
  const terminal = openTerminal();
  return terminal.lifetime.run(() => list(terminal, flags));
}

async function list({ lifetime, screen, stdout }: Terminal, flags: ModelsListFlags): Promise<number> {
  lifetime.beforeEnd(() => screen.flush());
  await checkProject(flags);
  const path = projectConfigFile(flags);
  const projectConfig = await loadProjectConfig(path);
  const models = await describeModels({ projectConfig, env: process.env, atMs: Date.now() });
  for (const warning of projectConfig.warnings) await screen.line(`[warning] ${inOneLine(warning)}`);
  for (const model of models) {
    const text = flags.json === true ? jsonLine(model) : asText(model, stdout.columns).join("\n");
    await stdout.write(`${text}\n`);
  }
  if (models.length === 0) {
    await screen.line(`no models are configured in ${path}; add one, such as: cox models add openai gpt-5`);
  } else if (flags.json !== true) {
    if (projectConfig.defaultModel === undefined) {
      await screen.line("there is no default model; choose one with cox models default <provider> <model_id>");
    }
    await screen.line(screen.style.dim(`[configuration] ${path}`));
  }
  return exitCodes.done;
}

/** The names in a line of their own: readable where lines are narrow, and for `grep`. */
function asText(model: ModelDescription, columns: number): string[] {
  const rows: [string, string][] = [
    ["protocol", said(model.protocol)],
    ["address", said(model.baseUrl, inOneLine, model.protocol.value === "offline" ? "none" : "unknown")],
    ["window", said(model.contextWindow, (tokens) => `${tokens} tokens`)],
    ["answer", said(model.maxTokens, (tokens) => `at most ${tokens} tokens`, "the provider's own limit")],
    [
      "images",
      said(
        model.vision,
        (sees) => (sees ? "yes" : "no"),
        model.protocol.value === "openai-chat" ? "unknown, so it is sent none" : "unknown, so it is sent them",
      ),
    ],
    ["price", priceWords(model)],
    ["key", keyWords(model)],
  ];
  const details = rows.flatMap(([label, words]) => labelled(`    ${label.padEnd(8)}`, words, columns));
  return [`${model.isDefault ? "* " : "  "}${modelWords(model)}${model.isDefault ? "  (default)" : ""}`, ...details];
}

function said<T>(
  { value, from }: DescribedValue<T>,
  words: (value: T) => string = (one) => inOneLine(String(one)),
  otherwise = "unknown",
): string {
  return value === undefined ? otherwise : `${words(value)} (${from})`;
}

function priceWords({ prices }: ModelDescription): string {
  const named = [
    { name: "in", price: prices.input },
    { name: "out", price: prices.output },
    { name: "cache read", price: prices.cacheRead },
    { name: "cache write", price: prices.cacheWrite },
  ].filter(({ price }) => price.value !== undefined);
  if (named.length === 0) return "unknown";
  const origins = new Set(named.map(({ price }) => price.from));
  const parts = named.map(({ name, price }) => {
    const origin = origins.size === 1 ? "" : ` (${price.from})`;
    return `${name} ${price.value === undefined ? "" : dollars(price.value)}${origin}`;
  });
  const origin = origins.size === 1 ? ` (${[...origins].join("")})` : "";
  return `${parts.join(", ")} per million tokens${origin}`;
}

function dollars(price: TokenPrice): string {
  if (typeof price === "number") return `$${price}`;
  const tiers = price.tiers.map((tier) => `$${tier.price} above ${tier.start}`);
  return `$${price.base} (${tiers.join(", ")} tokens)`;
}

function keyWords({ key }: ModelDescription): string {
  switch (key.from) {
    case "file":
      return "in the file";
    case "none-needed":
      return "none needed";
    case "unknown":
      return "none; whether it needs one is not known";
    case "environment":
      return `${key.variable} (environment)`;
    case "missing":
      return `missing; set ${key.variable}, or give it with cox models add`;
  }
}
