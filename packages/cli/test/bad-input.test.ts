import { expect, test } from "vitest";
import { cox, type CoxResult, createPlace, type Place } from "./support.ts";

interface BadInput {
  name: string;
  args: string[] | ((place: Place) => string[]);
  prepare?: (place: Place) => Promise<unknown>;
  code: number;
  says: RegExp;
}

const offline = ["run", "--provider", "offline"];
const projectConfig = "home/default_project/project_config.toml";
const twoProviders = `[[models]]
provider = "openai"
model_id = "gpt-5"
[[models]]
provider = "my server"
model_id = "gpt-5"
protocol = "openai-chat"
base_url = "http://127.0.0.1:1/v1"
`;
const systemConfig = "home/default_project/agents/default_agent/agent_state/system_config.yaml";

const badInputs: BadInput[] = [
  { name: "no prompt", args: ["run"], code: 2, says: /no prompt/ },
  { name: "a prompt of blanks", args: ["run", "  "], code: 2, says: /no prompt/ },
  { name: "no model configured", args: ["run", "hi"], code: 2, says: /no default model.*offline/ },
  { name: "a missing key", args: ["run", "--provider", "openai", "-m", "x", "hi"], code: 3, says: /OPENAI_API_KEY/ },
  { name: "an unknown provider", args: ["run", "--provider", "opnai", "-m", "x", "hi"], code: 2, says: /openai/ },
  {
    name: "a missing key of the default model",
    prepare: (place) => place.write(projectConfig, 'default_model = { provider = "openai", model_id = "gpt-5" }\n'),
    args: ["run", "hi"],
    code: 3,
    says: /OPENAI_API_KEY.*cox models add <provider> <model_id>/,
  },
  {
    name: "a provider that nobody knows, alone",
    prepare: (place) => place.write(projectConfig, twoProviders),
    args: ["run", "--provider", "nop", "hi"],
    code: 2,
    says: /there is no provider "nop"; configured are openai gpt-5, 'my server' gpt-5; known providers are openai/,
  },
  {
    name: "a model that two providers have",
    prepare: (place) => place.write(projectConfig, twoProviders),
    args: ["run", "-m", "gpt-5", "hi"],
    code: 2,
    says: /"gpt-5" is configured of 2 providers; say which with --provider: "openai", "my server"/,
  },
  {
    name: "no default model among those that are configured",
    prepare: (place) => place.write(projectConfig, twoProviders),
    args: ["run", "hi"],
    code: 2,
    says: /no default model; choose one with cox models default .*: openai gpt-5, 'my server' gpt-5\n$/,
  },
  { name: "an unknown project", args: ["run", "--project", "nope", "hi"], code: 2, says: /there is no project "nope"/ },
  {
    name: "the sessions of an unknown project",
    args: ["sessions", "--project", "nope"],
    code: 2,
    says: /there is no project "nope"/,
  },
  { name: "an unknown model", args: ["run", "--model", "nope", "hi"], code: 2, says: /no model "nope"/ },
  { name: "an unknown command", args: ["rum"], code: 2, says: /rum.*to give a task.*see cox --help/ },
  {
    name: "an unknown command of a command",
    args: ["trace", "shwo", "x"],
    code: 2,
    says: /^cox: unknown command 'shwo' \(Did you mean show\?\); see cox trace --help\n$/,
  },
  { name: "an argument left out", args: ["models", "add"], code: 2, says: /; see cox models add --help\n$/ },
  { name: "an unknown option", args: ["run", "--jsonn", "hi"], code: 2, says: /--jsonn.*--json/ },
  {
    name: "an unknown approval mode",
    args: ["run", "--approve", "yes", "hi"],
    code: 2,
    says: /ask, read-only, allow, deny/,
  },
  { name: "asking without a terminal", args: [...offline, "--approve", "ask", "hi"], code: 2, says: /no terminal/ },
  { name: "no turns at all", args: [...offline, "--max-turns", "0", "hi"], code: 2, says: /--max-turns/ },
  {
    name: "a directory that is not there",
    args: [...offline, "-w", "nowhere", "hi"],
    code: 2,
    says: /no such directory/,
  },
  { name: "an unsafe agent id", args: [...offline, "--agent", "../x", "hi"], code: 2, says: /agent id/ },
  { name: "an unsafe session id", args: ["run", "-s", "../x", "hi"], code: 2, says: /no session id/ },
  {
    name: "a scenario that is not there",
    args: ["run", "--scenario", "none.yaml", "hi"],
    code: 2,
    says: /^cox: there is no scenario file ".*\/none\.yaml"; name a YAML file with --scenario\n$/,
  },
  {
    name: "two models at once",
    args: ["run", "--scenario", "a", "--model", "b", "hi"],
    code: 2,
    says: /cannot be used with/,
  },
  {
    name: "another model for a session that has one",
    args: ["run", "-s", "session-2026-01-01-00-00-00-aaaaaaaa", "--model", "b", "hi"],
    code: 2,
    says: /cannot be used with/,
  },
  {
    name: "an unknown session",
    args: ["run", "-s", "session-2026-01-01-00-00-00-aaaaaaaa", "hi"],
    code: 2,
    says: /there is no session session-2026/,
  },
  {
    name: "a workspace that is a file",
    prepare: (place) => place.write("file", ""),
    args: (place) => [...offline, "-w", `${place.root}/file`, "hi"],
    code: 2,
    says: /is a file; name a directory/,
  },
  {
    name: "a home that is a file",
    prepare: (place) => place.write("file", ""),
    args: (place) => [...offline, "--home", `${place.root}/file`, "hi"],
    code: 2,
    says: /--home/,
  },
  {
    name: "a home below a file",
    prepare: (place) => place.write("file", ""),
    args: (place) => [...offline, "--home", `${place.root}/file/home`, "hi"],
    code: 2,
    says: /--home/,
  },
  {
    name: "a YAML error",
    prepare: (place) => place.write(systemConfig, "max_turns: 3\nmodel: [1\n"),
    args: [...offline, "hi"],
    code: 2,
    says: /system_config\.yaml:\d+:\d+: no valid YAML/,
  },
  {
    name: "a value that cannot be",
    prepare: (place) => place.write(systemConfig, "max_turns: many\n"),
    args: [...offline, "hi"],
    code: 2,
    says: /system_config\.yaml:1.*max_turns.*"many"/,
  },
  {
    name: "a TOML error",
    prepare: (place) => place.write("home/default_project/project_config.toml", "models = \n"),
    args: [...offline, "hi"],
    code: 2,
    says: /project_config\.toml:1/,
  },
  {
    name: "a scenario for another model",
    args: ["run", "--scenario", "s.yaml", "--provider", "openai", "hi"],
    code: 2,
    says: /offline model, not for "openai"/,
  },
  {
    name: "a step of a scenario that cannot be",
    prepare: (place) => place.write("workspace/bad.yaml", "steps:\n  - txet: hi\n"),
    args: ["run", "--scenario", "bad.yaml", "hi"],
    code: 2,
    says: /bad\.yaml:2.*txet/,
  },
];

function expectOneLine(result: CoxResult): void {
  expect(result.stdout).toBe("");
  expect(result.stderr).toMatch(/^cox: [^\n]+\n$/);
}

test.each(badInputs)("$name is one line that says what to do", async ({ args, prepare, code, says }) => {
  await using place = await createPlace();
  await prepare?.(place);
  const result = await cox(typeof args === "function" ? args(place) : args, { place });
  expectOneLine(result);
  expect(result.stderr).toMatch(says);
  expect(result.code).toBe(code);
  expect(await place.traceFiles()).toEqual([]);
});

test("without a command the help is shown, with exit code 2", async () => {
  await using place = await createPlace();
  const result = await cox([], { place });
  expect(result).toMatchObject({ code: 2, stdout: "" });
  expect(result.stderr).toContain("Usage: cox");
});

test("a command with commands of its own shows its help without one of them, with exit code 2", async () => {
  await using place = await createPlace();
  const result = await cox(["trace"], { place });
  expect(result).toMatchObject({ code: 2, stdout: "" });
  expect(result.stderr).toMatch(/^Usage: cox trace [^]*\n {2}help \[command\][^\n]*\n$/);
});

test("help that was asked for is on standard output, with exit code 0", async () => {
  await using place = await createPlace();
  const result = await cox(["run", "--help"], { place });
  expect(result).toMatchObject({ code: 0, stderr: "" });
  expect(result.stdout).toContain("--approve");
});

test("the version is the package's", async () => {
  await using place = await createPlace();
  expect(await cox(["--version"], { place })).toMatchObject({ code: 0, stdout: "0.1.0\n", stderr: "" });
});

const asNode = (version: string): string[] => [
  "--import",
  `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"${version}"}})`,
];

test.each(["12.22.12", "18.20.0", "20.18.3"])("Node %s is told to be too old, in one line", async (version) => {
  await using place = await createPlace();
  const result = await cox(["run", "hi"], { place, nodeArgs: asNode(version) });
  expectOneLine(result);
  expect(result.stderr).toContain(`20.19 or newer, and this is Node ${version}`);
  expect(result.code).toBe(2);
});

test("Windows is refused in words", async () => {
  await using place = await createPlace();
  const nodeArgs = ["--import", 'data:text/javascript,Object.defineProperty(process,"platform",{value:"win32"})'];
  const result = await cox(["run", "hi"], { place, nodeArgs });
  expectOneLine(result);
  expect(result.stderr).toContain("WSL");
});
