import { spawnSync } from "node:child_process";

/** Programs that the system tests run, and the package of Debian that each is in. */
const programs = { bwrap: "bubblewrap", git: "git", perl: "perl" };

/** A machine without them has not run the tests: that must not look like success. */
export function setup(): void {
  const missing = Object.entries(programs)
    .filter(([program]) => spawnSync(program, ["--version"]).status !== 0)
    .map(([, name]) => name);
  if (missing.length === 0) return;
  throw new Error(`The system tests need ${missing.join(" and ")}: apt-get install ${missing.join(" ")}`);
}
