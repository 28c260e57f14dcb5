import * as fs from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { coxswainHome, ensureDirectory, projectPaths } from "../../src/config/home.ts";
import { configErrorOf, temporaryDirectory } from "./support.ts";

describe("the home directory", () => {
  test("is where COXSWAIN_HOME says, else in the user's own", () => {
    expect(coxswainHome({ COXSWAIN_HOME: "/data/./cox/../c" })).toBe("/data/c");
    expect(coxswainHome({})).toBe(join(homedir(), ".coxswain"));
    expect(coxswainHome({ COXSWAIN_HOME: "" })).toBe(join(homedir(), ".coxswain"));
  });

  test("must be an absolute path", async () => {
    const error = await configErrorOf(() => coxswainHome({ COXSWAIN_HOME: "rel/ative" }));
    expect(error.message).toBe('COXSWAIN_HOME is "rel/ative", but must be an absolute path');
    await configErrorOf(() => coxswainHome({ COXSWAIN_HOME: "/a\0b" }));
  });
});

describe("the layout", () => {
  test("is one directory a project and agent", () => {
    const paths = projectPaths("/h", "p", "a.b-1");
    expect(paths).toMatchObject({
      projectDir: "/h/p",
      projectConfigFile: "/h/p/project_config.toml",
      agentDir: "/h/p/agents/a.b-1",
      agentStateDir: "/h/p/agents/a.b-1/agent_state",
      systemConfigFile: "/h/p/agents/a.b-1/agent_state/system_config.yaml",
      tracesDir: "/h/p/agents/a.b-1/traces",
    });
    expect(paths.scratchpadDir("session-2026-01-31-12-00-00-0a1b2c3d")).toBe(
      "/h/p/agents/a.b-1/scratchpad/session-2026-01-31-12-00-00-0a1b2c3d",
    );
    expect(paths.temporaryWorkspaceDir("0a1b2c3d")).toBe("/h/p/agents/a.b-1/workspaces/tmp-0a1b2c3d");
    expect(() => paths.scratchpadDir("..")).toThrow(/is no session id/);
    expect(() => paths.temporaryWorkspaceDir("../../x")).toThrow(RangeError);
  });

  test.each(["", ".", "..", "../x", "a/b", "a\\b", ".hidden", "-x", "a b", "a\n", "a\0", "é", "x".repeat(65)])(
    "%j is no id of a project or an agent",
    async (id) => {
      const ofProject = await configErrorOf(() => projectPaths("/h", id, "a"));
      expect(ofProject.message).toMatch(/ is no project id; it must begin with a letter or digit/);
      const ofAgent = await configErrorOf(() => projectPaths("/h", "p", id));
      expect(ofAgent.message).toMatch(/ is no agent id; it must begin with a letter or digit/);
    },
  );
});

describe("our directories", () => {
  test("are private to the user, with their parents, and may be there already", () => {
    const path = join(temporaryDirectory(), "a", "b");
    ensureDirectory(path);
    ensureDirectory(path);
    expect(fs.statSync(path).mode & 0o777).toBe(0o700);
    expect(fs.statSync(join(path, "..")).mode & 0o777).toBe(0o700);
  });

  test("that cannot be made are told in one line", async () => {
    const file = join(temporaryDirectory(), "file");
    fs.writeFileSync(file, "");
    expect((await configErrorOf(() => ensureDirectory(file))).message).toBe(
      `${file} is in the way: a directory must be there; move it away`,
    );
    const below = join(file, "deeper");
    expect((await configErrorOf(() => ensureDirectory(below))).message).toMatch(
      new RegExp(`^cannot make the directory ${below} \\(ENOTDIR\\); choose`),
    );
    expect((await configErrorOf(() => ensureDirectory("/proc/1/coxswain"))).message).toMatch(
      /^cannot make the directory \/proc\/1\/coxswain \(E/,
    );
  });
});
