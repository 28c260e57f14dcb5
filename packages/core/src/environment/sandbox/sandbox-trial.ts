/** Whether the sandbox works on this machine, tried before the first command. */
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import type { CommandSandbox } from "../command/command-sandbox.ts";
import { startLaunch } from "../command/launch.ts";
import { BubblewrapSandbox, type BubblewrapSettings } from "./bubblewrap-sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";

const trialTimeoutMs = 20_000;
const maxWords = 4096;
export const otherwise = 'or set sandbox = "off"; commands can then read and do whatever you can';

/** An older bubblewrap cannot take the making of user namespaces away; the walls hold without that too. */
export async function tried(settings: BubblewrapSettings): Promise<CommandSandbox> {
  const best = new BubblewrapSandbox(settings);
  if ((await trial(best, settings)) === undefined) return best;
  const older = new BubblewrapSandbox({ ...settings, canDisableNamespaces: false });
  const problem = await trial(older, settings);
  if (problem === undefined) return older;
  throw new SandboxError(`${settings.program} does not work here: ${problem}; ${adviceFor(problem)}, ${otherwise}`);
}

const readOnly = "the Workspace cannot be written to from within";

/** Says what went wrong. */
async function trial(sandbox: CommandSandbox, { workspaceDir }: BubblewrapSettings): Promise<string | undefined> {
  const test = isWritable(workspaceDir) ? `test -w "$0" || { echo "${readOnly}" >&2; exit 1; }` : "true";
  const argv = ["/bin/sh", "-c", test, workspaceDir];
  const launch = sandbox.wrap({ argv, workdir: workspaceDir, variables: {} });
  const child = await startLaunch(launch, { input: "ignore", output: "pipe" });
  const timeout = setTimeout(() => child.kill("SIGKILL"), trialTimeoutMs);
  let said = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(0, maxWords)));
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  clearTimeout(timeout);
  if (code === 0) return undefined;
  const complaint =
    said
      .trim()
      .split("\n")[0]
      ?.replace(/^bwrap: /, "") ?? "";
  return complaint === "" ? `it ended with ${code ?? signal}` : complaint;
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function adviceFor(problem: string): string {
  if (problem === readOnly) {
    return "it belongs to another user, over whose files even the superuser has no power in the sandbox: run as that user, or change its owner";
  }
  if (/unknown option/i.test(problem)) return "this bubblewrap is too old: it must be 0.4 or newer";
  return (
    "it needs user namespaces: allow them (sysctl kernel.unprivileged_userns_clone=1 where there is such a setting; on Ubuntu 24.04 and later " +
    "kernel.apparmor_restrict_unprivileged_userns=0, or a profile for bwrap; in a container --security-opt seccomp=unconfined and " +
    "--security-opt systempaths=unconfined)"
  );
}
