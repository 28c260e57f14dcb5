/** Starts a program with its streams, what it is handed, and no other descriptor of ours. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { Duplex } from "node:stream";
import type { Launch } from "./command-sandbox.ts";

export interface LaunchStreams {
  input: number | "pipe" | "ignore";
  /** One for both kinds of output keeps their order; what complains before the program runs is heard too. */
  output: number | "pipe";
}

const firstHanded = 3;
/** `undefined` where there is none. */
export const bash = existsSync("/bin/bash") ? "/bin/bash" : undefined;

/** Resolves when it runs, as the leader of a process group. @throws Error when it cannot be started; the message says why. */
export async function startLaunch(launch: Launch, { input, output }: LaunchStreams): Promise<ChildProcess> {
  const { argv, workdir, variables, handed = [] } = launch;
  const child = spawn("/bin/sh", ["-c", script, "sh", String(firstHanded + handed.length), ...argv], {
    cwd: workdir,
    env: variables,
    detached: true,
    stdio: [input, output, "ignore", ...handed.map(() => "pipe" as const)],
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  for (const [index, bytes] of handed.entries()) hand(child.stdio[firstHanded + index], bytes);
  return child;
}

function hand(stream: unknown, bytes: Buffer): void {
  if (!(stream instanceof Duplex)) throw new Error("The program was started without a way to hand it something.");
  // It may end before it has read all.
  stream.on("error", () => undefined);
  stream.end(bytes, () => stream.destroy());
}

/**
 * Node leaves open in its children what it was itself started with. Not every shell can close a descriptor of two
 * digits; bash can, which reads nothing of its own here. The variable cannot be one of the program's.
 */
const script = closeFrom(
  bash === undefined
    ? `(eval "exec 19>&-") 2>/dev/null || { echo "/bin/sh cannot close descriptor $coxswain_fd, which Coxswain was started with: install bash, or start Coxswain without it"; exit 126; }; eval "exec $coxswain_fd>&-"`
    : `exec ${bash} -p -c '${closeFrom('eval "exec $coxswain_fd>&-"')}' sh "$@"`,
);

/** Of a shell that is given the first number to close, and what to run. */
function closeFrom(ofTwoDigits: string): string {
  const directory = process.platform === "linux" ? "/proc/self/fd" : "/dev/fd";
  return [
    `for coxswain_fd in ${directory}/*; do coxswain_fd=\${coxswain_fd##*/}; case $coxswain_fd in`,
    `[0-9]) test "$coxswain_fd" -lt "$1" || eval "exec $coxswain_fd>&-" ;;`,
    `[1-9][0-9]*) ${ofTwoDigits} ;;`,
    `esac; done; shift; exec "$@" 2>&1`,
  ].join(" ");
}
