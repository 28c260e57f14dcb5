import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { isInside } from "../../src/shared/is-inside.ts";
import { openSandbox, type SandboxLevel } from "../../src/environment/sandbox/open-sandbox.ts";
import { builtInTools } from "../../src/environment/built-in-tools.ts";
import { LocalEnvironment, type LocalEnvironmentOptions } from "../../src/environment/local-environment.ts";
import { run, type Ran } from "../../test/environment/support.ts";

export type Level = SandboxLevel | "off";

/** A person's home with a Workspace, our home and things that nobody else should see, where commands can see it. */
export interface Place {
  root: string;
  home: string;
  workspaceDir: string;
  coxswainHome: string;
  /** Neither the Workspace nor anything secret. */
  outsideDir: string;
}

/** Other directories in a sandbox, which show nothing of the host and so prove nothing. */
const replaced = ["/tmp", "/var/tmp", "/run", "/dev"];
const modulesDir = dirname(dirname(createRequire(import.meta.url).resolve("vitest/package.json")));

/** Beside these tests, wherever they have been cloned to; else in the home of whoever runs them. */
async function visibleDir(): Promise<string> {
  for (const directory of [modulesDir, homedir()]) {
    const real = await realpath(directory);
    if (!replaced.some((path) => isInside(path, real))) return real;
  }
  throw new Error(`A sandbox shows neither ${modulesDir} nor ${homedir()}: clone to a place outside of /tmp.`);
}

export const secret = "nobody-else-should-see-this";

export async function makePlace(): Promise<Place> {
  const root = await mkdtemp(join(await visibleDir(), ".system-test-"));
  const place = {
    root,
    home: join(root, "home"),
    workspaceDir: join(root, "ws"),
    coxswainHome: join(root, "home", ".coxswain"),
    outsideDir: join(root, "outside"),
  };
  for (const directory of [place.workspaceDir, place.outsideDir, place.coxswainHome, join(place.home, ".ssh")]) {
    await mkdir(directory, { recursive: true });
  }
  await writeFile(join(place.home, ".ssh", "id_test"), secret);
  await writeFile(join(place.home, ".netrc"), secret);
  await writeFile(join(place.coxswainHome, "project_config.toml"), secret);
  return place;
}

export async function removePlace(place: Place): Promise<void> {
  await rm(place.root, { recursive: true, force: true });
}

export interface World {
  environment: LocalEnvironment;
  warnings: string[];
  exec: (cmd: string, args?: Record<string, unknown>) => Promise<Ran>;
}

/** The home of the person is where the variable says, so it has to say so while this runs. */
export async function openWorld(
  place: Place,
  level: Level,
  session = `session-${level}`,
  more: Partial<LocalEnvironmentOptions> = {},
): Promise<World> {
  const { workspaceDir, coxswainHome } = place;
  const scratchpadDir = join(coxswainHome, "scratchpad", session);
  const hiddenPaths = [coxswainHome];
  const opened = level === "off" ? undefined : await openSandbox({ level, workspaceDir, scratchpadDir, hiddenPaths });
  const environment = new LocalEnvironment({
    workspaceDir,
    scratchpadDir,
    tools: builtInTools(),
    sandbox: opened?.commands,
    forbiddenPaths: [coxswainHome, ...(opened?.hiddenPaths ?? [])],
    writable: opened?.writable,
    ...more,
  });
  return {
    environment,
    warnings: opened?.warnings ?? [],
    exec: (cmd, args = {}) => run(environment, "exec_command", { cmd, ...args }),
  };
}

/** A process of the host that does nothing, with a secret in its environment. */
export function startBystander(): ChildProcess {
  return spawn("sleep", ["infinity"], { env: { ...process.env, BYSTANDER: secret }, stdio: "ignore" });
}
