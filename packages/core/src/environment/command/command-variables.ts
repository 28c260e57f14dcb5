/** The environment of a command: what it inherits, less our secrets and whatever would wait for a person or colour its output. */
import { usableSecrets } from "../../shared/secrets.ts";

type Variables = Record<string, string>;

/** Whose keys are taken away; names of variables begin so and end in `_API_KEY`, `_KEY`, `_TOKEN` or the like. */
const providers = [
  "AI_GATEWAY",
  "ANTHROPIC",
  "ANYSCALE",
  "ARK",
  "AZURE",
  "AZURE_OPENAI",
  "BASETEN",
  "BIGMODEL",
  "CEREBRAS",
  "CLAUDE",
  "CODESTRAL",
  "COHERE",
  "DASHSCOPE",
  "DEEPINFRA",
  "DEEPSEEK",
  "FIREWORKS",
  "GEMINI",
  "GLM",
  "GOOGLE",
  "GOOGLE_GENERATIVE_AI",
  "GROK",
  "GROQ",
  "HF",
  "HUGGINGFACE",
  "HUGGING_FACE",
  "HYPERBOLIC",
  "KIMI",
  "LITELLM",
  "MINIMAX",
  "MISTRAL",
  "MOONSHOT",
  "NEBIUS",
  "NOVITA",
  "NVIDIA",
  "OLLAMA",
  "OPENAI",
  "OPENROUTER",
  "PERPLEXITY",
  "PPLX",
  "QWEN",
  "REPLICATE",
  "SAMBANOVA",
  "SILICONFLOW",
  "STEPFUN",
  "TOGETHER",
  "TOGETHER_AI",
  "VERCEL_AI_GATEWAY",
  "VOLCENGINE",
  "VOYAGE",
  "XAI",
  "ZAI",
  "ZHIPU",
  "ZHIPUAI",
];
const providerKey = new RegExp(
  `^(?:${providers.join("|")})_(?:(?:ADMIN_|CODE_OAUTH_|BEARER_|HUB_|MASTER_|OAUTH_)?(?:API_?KEYS?|KEY|TOKEN)|API_TOKEN|AUTH_TOKEN|ACCESS_TOKEN)(?:_(?:\\d+|PROD|PRODUCTION|DEV|DEVELOPMENT|TEST|STAGING|BACKUP|OLD|NEW))?$`,
  "i",
);
/** A provider's that begins as the cloud around it, whose other keys are for its own programs. */
const cloudKey = /^AWS_BEARER_TOKEN_BEDROCK$/i;
const ours = /^COXSWAIN_/i;
const colour =
  /^(?:FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|COLORTERM|COLOR|PY_COLORS|MOCHA_COLORS|GCC_COLORS|GREP_COLORS?|LS_COLORS|CARGO_TERM_COLOR|NPM_CONFIG_COLOR|GTEST_COLOR|CMAKE_COLOR_DIAGNOSTICS|ANSIBLE_FORCE_COLOR|PRE_COMMIT_COLOR|TTY_FORCE)$/i;

const noEditor = 'echo "There is no editor here: give the text by an option, such as -m." >&2; false';

/** No terminal, no pager, no editor, no prompt. */
const settings: Variables = {
  TERM: "dumb",
  NO_COLOR: "1",
  PAGER: "cat",
  GIT_PAGER: "cat",
  GH_PAGER: "cat",
  MANPAGER: "cat",
  SYSTEMD_PAGER: "cat",
  AWS_PAGER: "cat",
  EDITOR: "false",
  VISUAL: "false",
  GIT_EDITOR: noEditor,
  GIT_SEQUENCE_EDITOR: noEditor,
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "false",
  SSH_ASKPASS: "false",
  SSH_ASKPASS_REQUIRE: "never",
  SUDO_ASKPASS: "false",
  GCM_INTERACTIVE: "never",
  GH_PROMPT_DISABLED: "1",
  DEBIAN_FRONTEND: "noninteractive",
  PIP_NO_INPUT: "1",
};

export interface CommandVariablesOptions {
  variables: Readonly<Record<string, string | undefined>>;
  /** Names that are left out. */
  hidden: readonly string[];
  /** A variable whose value holds one of these is left out. */
  secrets: readonly string[];
}

export function commandVariables(options: CommandVariablesOptions): Variables {
  const hidden = new Set(options.hidden);
  const secrets = usableSecrets(options.secrets);
  const kept: Variables = {};
  for (const [name, value] of Object.entries(options.variables)) {
    if (value === undefined || hidden.has(name)) continue;
    if (ours.test(name) || providerKey.test(name) || cloudKey.test(name) || colour.test(name)) continue;
    if (secrets.some((secret) => value.includes(secret))) continue;
    kept[name] = value;
  }
  return { ...kept, GIT_SSH_COMMAND: kept.GIT_SSH_COMMAND ?? "ssh -oBatchMode=yes", ...settings };
}
