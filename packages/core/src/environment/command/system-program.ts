/** Programs of the system that we start ourselves: whatever `PATH` names, a command may have put there. */
import { existsSync } from "node:fs";

/** @returns Absolute; `undefined` when the system has none. */
export function systemProgram(name: string): string | undefined {
  return ["/usr/bin", "/bin"].map((directory) => `${directory}/${name}`).find((path) => existsSync(path));
}
