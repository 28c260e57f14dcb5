// Runs commands as the user that this process belongs to, and says of each whether it ended with 0:
// as-user.mjs <built sources> <directory of one's own> <level> <command>...
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

const [sources, root, level, ...commands] = process.argv.slice(2);
const { openSandbox } = await import(join(sources, "environment/sandbox/open-sandbox.js"));
const workspaceDir = join(root, "ws");
mkdirSync(workspaceDir, { recursive: true });
const hiddenPaths = [join(root, "home")];
const scratchpadDir = join(root, "home/pad");
const { commands: sandbox } = await openSandbox({ level, workspaceDir, scratchpadDir, hiddenPaths });

function succeeds([program, ...args]) {
  return spawnSync(program, args, { cwd: workspaceDir, stdio: "ignore" }).status === 0;
}

const results = commands.map((command) => {
  const argv = ["/bin/sh", "-c", command];
  return { without: succeeds(argv), within: succeeds(sandbox.wrap(argv, workspaceDir)) };
});
console.log(JSON.stringify(results));
