// A host whose strict command goes on: host.mjs <built sources> <workspace> <directory of its own> <command>
import { spawn } from "node:child_process";
import { join } from "node:path";

const [sources, workspaceDir, home, command] = process.argv.slice(2);
const { openSandbox } = await import(join(sources, "environment/sandbox/open-sandbox.js"));
const scratchpadDir = join(home, "pad");
const { commands } = await openSandbox({ level: "strict", workspaceDir, scratchpadDir, hiddenPaths: [home] });
const [program, ...args] = commands.wrap(["/bin/sh", "-c", command], workspaceDir);
spawn(program, args, { cwd: workspaceDir, detached: true, stdio: ["ignore", "inherit", "inherit"] });
