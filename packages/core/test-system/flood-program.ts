/** A process that lets a command print a gigabyte, in front or in the background, and tells what that took of memory. */
import { createBuilders } from "@coxswain/protocol";
import { builtInTools } from "../src/environment/built-in-tools.ts";
import { LocalEnvironment } from "../src/environment/local-environment.ts";

export interface FloodTold {
  /** Of the command, or the report of it. */
  output: string;
  /** Peak of the resident memory, less what it was before the command. */
  grownBytes: number;
}

const [workspaceDir = "", scratchpadDir = "", cmd = "", where] = process.argv.slice(2);
const environment = new LocalEnvironment({ workspaceDir, scratchpadDir, tools: builtInTools() });
const build = createBuilders(() => Date.now());
const reported = new Promise<string>((resolve) => environment.onReport(({ text }) => resolve(text)));

async function execute(args: object): Promise<string> {
  const toolCall = build.toolCall({ name: "exec_command", arguments: JSON.stringify(args), toolCallId: "call_1" });
  let output = "";
  for await (const { payload } of environment.executeTool({ toolCall })) {
    if (payload.type === "tool_call_output") output = payload.output;
  }
  return output;
}

/** A small one first: what is loaded and made once is not what a flood takes. */
await execute({ cmd: "seq 1 100000" });
const before = process.memoryUsage().rss;
const first = await execute({ cmd, run_in_background: where === "background", yield_time_ms: 110_000 });
const output = where === "background" ? await reported : first;
const told: FloodTold = { output, grownBytes: process.resourceUsage().maxRSS * 1024 - before };
await environment.dispose();
process.stdout.write(JSON.stringify(told));
