/** A process that has commands in the background when it is killed. Prints their first words, and then `ready`. */
import { createBuilders } from "@coxswain/protocol";
import { builtInTools } from "../../../src/environment/built-in-tools.ts";
import { LocalEnvironment } from "../../../src/environment/local-environment.ts";

const [workspaceDir = "", scratchpadDir = "", ...commands] = process.argv.slice(2);
const environment = new LocalEnvironment({ workspaceDir, scratchpadDir, tools: builtInTools() });
const build = createBuilders(() => Date.now());

for (const cmd of commands) {
  const args = JSON.stringify({ cmd, stdin: true, run_in_background: true });
  const toolCall = build.toolCall({ name: "exec_command", arguments: args, toolCallId: cmd });
  for await (const message of environment.executeTool({ toolCall })) {
    if (message.payload.type === "tool_call_output") process.stdout.write(`${message.payload.output}\n`);
  }
}
process.stdout.write("ready\n");
