/** What a shell does with this process: in the background, to touch the terminal would stop it. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

export interface JobControl {
  /** The terminal is ours to read and to set. */
  isInForeground(): boolean;
  /** What Ctrl-Z does where the terminal still looks after it. */
  suspend(): void;
}

export const jobControl: JobControl = {
  isInForeground: () => {
    const { own, terminal } = processGroups();
    // Without a controlling terminal there is no background.
    return terminal <= 0 || own === terminal;
  },
  suspend: () => void process.kill(0, "SIGTSTP"),
};

/** Ours, and the one that the terminal belongs to; 0: unknown. */
function processGroups(): { own: number; terminal: number } {
  try {
    const [own = 0, terminal = 0] = process.platform === "linux" ? fromProc() : fromPs();
    return { own, terminal };
  } catch {
    return { own: 0, terminal: 0 };
  }
}

function fromProc(): number[] {
  const text = readFileSync("/proc/self/stat", "utf8");
  // The name in front may hold anything: state, parent, group, session, terminal, the terminal's group follow it.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return [Number(fields[2]), Number(fields[5])];
}

function fromPs(): number[] {
  const args = ["-o", "pgid=", "-o", "tpgid=", "-p", String(process.pid)];
  return execFileSync("ps", args, { encoding: "utf8", timeout: 2000 }).trim().split(/\s+/).map(Number);
}
