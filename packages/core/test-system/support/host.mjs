// A host whose strict command goes on: host.mjs <built sources> <workspace> <directory of its own> <command>
import { join } from "node:path";

const [sources, workspaceDir, home, command] = process.argv.slice(2);
const { openSandbox } = await import(join(sources, "environment/sandbox/open-sandbox.js"));
const { startLaunch } = await import(join(sources, "environment/command/launch.js"));
const scratchpadDir = join(home, "pad");
const { commands } = await openSandbox({ level: "strict", workspaceDir, scratchpadDir, hiddenPaths: [home] });
const launch = { argv: ["/bin/sh", "-c", command], workdir: workspaceDir, variables: { PATH: process.env.PATH } };
await startLaunch(commands.wrap(launch), { input: "ignore", output: 1 });
