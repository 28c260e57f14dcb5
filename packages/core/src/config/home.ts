/** Where everything of ours lies on disk. */
import { homedir } from "node:os";
import { isAbsolute, join, normalize } from "node:path";
import { ensurePrivateDirectory } from "../shared/private-directory.ts";
import { assertSafeSessionId } from "../trace/session-id.ts";
import { wordsOf } from "../shared/error-words.ts";
import { ConfigError, showValue } from "./config-error.ts";

const acceptedId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const workspaceSuffix = /^[0-9a-f]{8}$/;

/**
 * `$COXSWAIN_HOME`, by default `~/.coxswain`.
 *
 * @throws ConfigError when it is no absolute path
 */
export function coxswainHome(env: Readonly<Record<string, string | undefined>>): string {
  const home = env["COXSWAIN_HOME"];
  if (home === undefined || home === "") return join(homedir(), ".coxswain");
  if (isAbsolute(home) && !home.includes("\0")) return normalize(home);
  throw new ConfigError("invalid_value", `COXSWAIN_HOME is ${showValue(home)}, but must be an absolute path`);
}

export interface ProjectPaths {
  projectDir: string;
  projectConfigFile: string;
  agentDir: string;
  agentStateDir: string;
  systemConfigFile: string;
  tracesDir: string;
  scratchpadDir(sessionId: string): string;
  /** @param suffix Eight hexadecimal digits. */
  temporaryWorkspaceDir(suffix: string): string;
}

/**
 * @param home Absolute path.
 * @throws ConfigError when an id is not safe as the name of a directory
 */
export function projectPaths(home: string, projectId = "default_project", agentId = "default_agent"): ProjectPaths {
  assertId("project", projectId);
  assertId("agent", agentId);
  const projectDir = join(home, projectId);
  const agentDir = join(projectDir, "agents", agentId);
  const agentStateDir = join(agentDir, "agent_state");
  return {
    projectDir,
    projectConfigFile: join(projectDir, "project_config.toml"),
    agentDir,
    agentStateDir,
    systemConfigFile: join(agentStateDir, "system_config.yaml"),
    tracesDir: join(agentDir, "traces"),
    scratchpadDir: (sessionId) => {
      assertSafeSessionId(sessionId);
      return join(agentDir, "scratchpad", sessionId);
    },
    temporaryWorkspaceDir: (suffix) => {
      if (!workspaceSuffix.test(suffix)) throw new RangeError(`${showValue(suffix)} must be eight hexadecimal digits`);
      return join(agentDir, "workspaces", `tmp-${suffix}`);
    },
  };
}

function assertId(what: "project" | "agent", id: string): void {
  if (acceptedId.test(id)) return;
  throw new ConfigError(
    "invalid_id",
    `${showValue(id)} is no ${what} id; it must begin with a letter or digit and hold only letters, digits, ".", "_" and "-", at most 64`,
  );
}

/**
 * Makes a directory of ours, private to the user, unless it is there.
 *
 * @throws ConfigError when it cannot be made, or something else is in its place
 */
export function ensureDirectory(path: string): void {
  try {
    ensurePrivateDirectory(path, true);
  } catch (error) {
    throw new ConfigError("unusable_directory", wordsOf(error), { cause: error });
  }
}
