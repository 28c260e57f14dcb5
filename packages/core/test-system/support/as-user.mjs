// Runs commands as the user that this process belongs to, and says of each whether it ended with 0:
// as-user.mjs <built sources> <directory of one's own> <level> <command>...
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

const [sources, root, level, ...commands] = process.argv.slice(2);
const { openSandbox } = await import(join(sources, "environment/sandbox/open-sandbox.js"));
const { startLaunch } = await import(join(sources, "environment/command/launch.js"));
const workspaceDir = join(root, "ws");
mkdirSync(workspaceDir, { recursive: true });
const hiddenPaths = [join(root, "home")];
const scratchpadDir = join(root, "home/pad");
const { commands: sandbox } = await openSandbox({ level, workspaceDir, scratchpadDir, hiddenPaths });

async function succeeds(launch) {
  const child = await startLaunch(launch, { input: "ignore", output: "pipe" });
  child.stdout.resume();
  const [code] = await once(child, "exit");
  return code === 0;
}

const results = [];
for (const command of commands) {
  const launch = { argv: ["/bin/sh", "-c", command], workdir: workspaceDir, variables: { PATH: process.env.PATH } };
  results.push({ without: await succeeds(launch), within: await succeeds(sandbox.wrap(launch)) });
}
console.log(JSON.stringify(results));
