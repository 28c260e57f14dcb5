import { chmod, mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { modelArguments } from "../src/model-words.ts";
import { labelled } from "../src/terminal-text.ts";
import { cox, createPlace, type Place } from "./support.ts";

const configFile = "home/default_project/project_config.toml";
const secret = "sk-a-secret-that-nobody-sees";

function configIn(place: Place): Promise<string> {
  return readFile(join(place.root, configFile), "utf8");
}

function rows(text: string): Record<string, unknown>[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const three = `default_model = { provider = "anthropic", model_id = "claude-opus-4-5" }

[[models]]
provider = "anthropic"
model_id = "claude-opus-4-5"
api_key = "${secret}"
pricing = { output = 7 }

[[models]]
provider = "own"
model_id = "m\\u001b[31m\\u0007x"
protocol = "openai-chat"
base_url = "http://127.0.0.1:8000/v1"
context_window = 32768
vision = false

[[models]]
provider = "openai"
model_id = "gpt-5"
max_tokens = 900
`;

test("the list says of each model what is configured, what is known and what is not, and where the key is", async () => {
  await using place = await createPlace();
  await chmod(await place.write(configFile, three), 0o600);
  const result = await cox(["models"], { place, env: { OPENAI_API_KEY: secret } });
  expect(result.code).toBe(0);
  expect(result.stdout).toBe(`* anthropic claude-opus-4-5  (default)
    protocol anthropic (implied)
    address  https://api.anthropic.com/v1 (implied)
    window   200000 tokens (catalogue)
    answer   the provider's own limit
    images   yes (catalogue)
    price    in $5 (catalogue), out $7 (configured), cache read $0.5 (catalogue), cache write $6.25 (catalogue) per million tokens
    key      in the file
  own mx
    protocol openai-chat (configured)
    address  http://127.0.0.1:8000/v1 (configured)
    window   32768 tokens (configured)
    answer   the provider's own limit
    images   no (configured)
    price    unknown
    key      none needed
  openai gpt-5
    protocol openai-responses (implied)
    address  https://api.openai.com/v1 (implied)
    window   400000 tokens (catalogue)
    answer   at most 900 tokens (configured)
    images   yes (catalogue)
    price    in $1.25, out $10, cache read $0.125 per million tokens (catalogue)
    key      OPENAI_API_KEY (environment)
`);
  expect(result.stderr).toBe(`[configuration] ${join(place.root, configFile)}\n`);
});

test("the list as JSON has a line for each model, and no key in any", async () => {
  await using place = await createPlace();
  await place.write(configFile, three);
  const result = await cox(["models", "list", "--json"], { place, env: { OPENAI_API_KEY: secret } });
  expect(rows(result.stdout)).toMatchObject([
    { modelId: "claude-opus-4-5", isDefault: true, key: { from: "file" }, prices: { output: { value: 7 } } },
    { provider: "own", isDefault: false, key: { from: "none-needed" }, prices: { input: { from: "unknown" } } },
    { modelId: "gpt-5", key: { from: "environment", variable: "OPENAI_API_KEY" }, maxTokens: { value: 900 } },
  ]);
  expect(result.stdout).not.toContain(secret);
  expect(result.stdout).not.toMatch(/[^\P{Cc}\n]/u);
  expect(result.stderr).toMatch(/^\[warning\] [^\n]+chmod 600 [^\n]+\n$/);
});

test("a missing key, and a default model without an entry, are told of", async () => {
  await using place = await createPlace();
  await place.write(configFile, 'default_model = { provider = "groq", model_id = "m" }\n');
  const { stdout } = await cox(["models"], { place });
  expect(stdout).toContain("* groq m  (default)\n");
  expect(stdout).toContain("missing; set GROQ_API_KEY");
  expect(stdout).toContain("window   unknown\n");
  expect(stdout).toContain("images   unknown, so it is sent none\n");
});

test("of a server that nobody knows it is said so, and where a protocol or the offline model is", async () => {
  await using place = await createPlace();
  await place.write(
    configFile,
    `[[models]]
provider = "mine"
model_id = "m"
protocol = "gemini"
[[models]]
provider = "offline"
model_id = "m"
[[models]]
provider = "typo"
model_id = "m"
`,
  );
  const { stdout } = await cox(["models"], { place });
  const [mine, offline, typo] = stdout.split(/^  (?=\S)/m).slice(1);
  expect(mine).toContain("address  https://generativelanguage.googleapis.com/v1beta (implied)\n");
  expect(mine).toContain("key      none; whether it needs one is not known\n");
  expect(offline).toContain("address  none\n");
  expect(offline).toContain("key      none needed\n");
  expect(typo).toContain("protocol unknown\n");
  expect(typo).toContain("address  unknown\n");
});

test("without a model the list is empty and says how to add one", async () => {
  await using place = await createPlace();
  expect(await cox(["models"], { place })).toMatchObject({
    code: 0,
    stdout: "",
    stderr: expect.stringMatching(/cox models add/) as unknown,
  });
});

test("a model is added, private, as the first default, and the next command is named", async () => {
  await using place = await createPlace();
  const args = [
    "own",
    "m",
    "--protocol",
    "openai-chat",
    "--base-url",
    "http://127.0.0.1:1/v1",
    "--context-window",
    "9",
    "--no-vision",
  ];
  const result = await cox(["models", "add", ...args], { place });
  expect(result).toMatchObject({ code: 0, stderr: "" });
  expect(result.stdout).toBe(
    `added own m in ${join(place.root, configFile)}\nit is the default model\nnext: cox models test own m\n`,
  );
  expect(await configIn(place)).toBe(`default_model = { provider = "own", model_id = "m" }

[[models]]
provider = "own"
model_id = "m"
protocol = "openai-chat"
base_url = "http://127.0.0.1:1/v1"
context_window = 9
vision = false
`);
  expect((await stat(join(place.root, configFile))).mode & 0o777).toBe(0o600);
});

test("a key comes in through standard input, and is shown nowhere", async () => {
  await using place = await createPlace();
  const result = await cox(["models", "add", "openai", "gpt-5", "--api-key-stdin"], { place, stdin: `${secret}\n` });
  expect(result.code).toBe(0);
  expect(result.stdout).toContain("its key is in that file");
  expect(result.stdout + result.stderr).not.toContain(secret);
  expect(await configIn(place)).toContain(`api_key = "${secret}"`);
});

test("a model without its key is added all the same, and told how to get one", async () => {
  await using place = await createPlace();
  const missing = await cox(["models", "add", "openai", "gpt-5"], { place });
  expect(missing.stdout).toMatch(/no key yet; set OPENAI_API_KEY, or: cox models add openai gpt-5 --api-key-stdin/);
  const there = await cox(["models", "add", "openai", "gpt-5"], { place, env: { OPENAI_API_KEY: secret } });
  expect(there.stdout).toMatch(/^changed openai gpt-5[^]*from the environment variable OPENAI_API_KEY\n/);
});

test("adding a model that is there changes it, keeps the comments, and drops the key of another address", async () => {
  await using place = await createPlace();
  await place.write(
    configFile,
    `# mine\n[[models]] # first\nprovider = "openai"\nmodel_id = "gpt-5"\napi_key = "${secret}"\n`,
  );
  const kept = await cox(["models", "add", "openai", "gpt-5", "--max-tokens", "7"], { place });
  expect(kept.stdout).toContain("its key is in that file");
  const moved = await cox(["models", "add", "openai", "gpt-5", "--base-url", "https://other.example/v1"], { place });
  expect(moved.stdout).toMatch(/the stored key was for the old address and is gone/);
  const line = 'default_model = { provider = "openai", model_id = "gpt-5" }\n\n';
  expect(await configIn(place)).toBe(
    `${line}# mine\n[[models]] # first\nprovider = "openai"\nmodel_id = "gpt-5"\nmax_tokens = 7\nbase_url = "https://other.example/v1"\n`,
  );
});

test("a test without a default model names those that can be chosen", async () => {
  await using place = await createPlace();
  await place.write(configFile, three.slice(three.indexOf("[[models]]")));
  const { code, stderr } = await cox(["models", "test"], { place });
  expect(code).toBe(2);
  expect(stderr).toContain("choose one with cox models default <provider> <model_id>: anthropic claude-opus-4-5, own");
});

test("the default model is chosen, and goes with the model that is removed", async () => {
  await using place = await createPlace();
  await place.write(configFile, three);
  const chosen = await cox(["models", "default", "openai", "gpt-5"], { place });
  expect(chosen).toMatchObject({ code: 0, stderr: "" });
  expect(await configIn(place)).toBe(
    three.replace('"anthropic", model_id = "claude-opus-4-5"', '"openai", model_id = "gpt-5"'),
  );
  const removed = await cox(["models", "remove", "openai", "gpt-5"], { place });
  expect(removed.stdout).toMatch(/^removed openai gpt-5 from [^]*there is none now/);
  expect(await configIn(place)).toBe(
    three.slice(three.indexOf("[[models]]"), three.indexOf('\n[[models]]\nprovider = "openai"')),
  );
});

const refused: [string, string[], RegExp, number?][] = [
  [
    "an unknown provider without a protocol",
    ["add", "own", "m"],
    /needs protocol \(one of .* and base_url .* give it with --protocol and --base-url/,
  ],
  [
    "an unknown provider without an address",
    ["add", "own", "m", "--protocol", "openai-chat"],
    /needs base_url .*--base-url/,
  ],
  ["a protocol that a known provider has no address for", ["add", "groq", "m", "--base-url", ""], /base_url is ""/],
  ["a protocol that is none", ["add", "own", "m", "--protocol", "smtp"], /"smtp", but must be one of openai-chat/],
  ["an address that is none", ["add", "openai", "m", "--base-url", "gpu:1"], /must be an address/],
  ["a window of nothing", ["add", "openai", "m", "--context-window", "0"], /1 or more/],
  ["an answer of half a token", ["add", "openai", "m", "--max-tokens", "1.5"], /1 or more/],
  ["a key as an argument", ["add", "openai", "m", "--api-key", secret], /other users of this machine can read/],
  [
    "a key as an argument with =",
    ["add", "openai", "m", `--api-key=${secret}`],
    /other users of this machine can read/,
  ],
  ["a key as a word too many", ["add", "openai", "m", secret], /too many arguments/],
  ["no key on standard input", ["add", "openai", "m", "--api-key-stdin"], /no key on standard input/],
  ["no model id", ["add", "openai"], /missing required argument 'model_id'/],
  ["a model that is not configured as the default", ["default", "own", "m"], /not configured; no \[\[models\]\]/],
  ["a model to remove that is not there", ["remove", "own", "m"], /is not configured/],
  ["a command that is none", ["tset"], /"tset" is no command of cox models; there are list, add/],
  ["a test without a model", ["test"], /no default model/],
  ["more tokens than can be counted", ["add", "openai", "m", "--context-window", "9".repeat(20)], /1 or more/],
  ["a test of more than a timer takes", ["test", "--timeout-ms", "2147483648"], /from 1 to 2147483647/],
  ["a test of half a millisecond", ["test", "--timeout-ms", "0.5"], /from 1 to/],
  ["a test without a key", ["test", "openai", "m"], /OPENAI_API_KEY/, 3],
  ["a test in a project that is not there", ["test", "--project", "nope"], /there is no project "nope"/],
  ["the list of a project that is not there", ["list", "--project", "nope"], /add .* --project nope begins one/],
  ["an unsafe project", ["list", "--project", "../x"], /no project id/],
];

test.each(refused)("%s is refused in one line, and nothing is written", async (_name, args, says, code = 2) => {
  await using place = await createPlace();
  const result = await cox(["models", ...args], { place });
  expect(result).toMatchObject({ code, stdout: "" });
  expect(result.stderr).toMatch(/^cox: [^\n]+\n$/);
  expect(result.stderr).toMatch(says);
  expect(result.stderr).not.toContain(secret);
  await expect(configIn(place)).rejects.toThrow("ENOENT");
});

test.each([["list"], ["add", "openai", "m"], ["default", "openai", "m"], ["remove", "openai", "m"], ["test"]])(
  "a broken file is told of by its place and left alone: %s",
  async (...args) => {
    await using place = await createPlace();
    await place.write(configFile, 'durability = "power"\nmodels = \n');
    const result = await cox(["models", ...args], { place });
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(result.stderr).toMatch(/^cox: [^\n]+project_config\.toml:2:[^\n]+\n$/);
    expect(await configIn(place)).toBe('durability = "power"\nmodels = \n');
  },
);

test("a file in the place of the directory is told of", async () => {
  await using place = await createPlace();
  await mkdir(place.home);
  await place.write("home/default_project", "");
  const result = await cox(["models", "add", "openai", "m"], { place });
  expect(result.code).toBe(2);
  expect(result.stderr).toMatch(/^cox: [^\n]+default_project[^\n]+\n$/);
});

test.each([20, 40, 80])("a line is not longer than %d columns where words allow it", (columns) => {
  const lines = labelled(
    "    price   ",
    "in $1.25, out $10, cache read $0.125 per million tokens (catalogue)",
    columns,
  );
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns < 30 ? 24 : columns);
  expect(lines.join(" ").replaceAll(/\s+/g, " ").trim()).toMatch(/^price in \$1\.25,.*\(catalogue\)$/);
});

test("names are told so that they can be typed", () => {
  expect(modelArguments({ provider: "openrouter", modelId: "anthropic/claude-opus-4.5:beta" })).toBe(
    "openrouter anthropic/claude-opus-4.5:beta",
  );
  expect(modelArguments({ provider: "o'n", modelId: "a b;rm" })).toBe("'o'\\''n' 'a b;rm'");
});
