/** A process that runs one command and prints what its tool says. Arguments: Workspace, scratchpad, command. */
import { createBuilders } from "@coxswain/protocol";
import { builtInTools } from "../../../src/environment/built-in-tools.ts";
import { LocalEnvironment } from "../../../src/environment/local-environment.ts";

const [workspaceDir = "", scratchpadDir = "", cmd = ""] = process.argv.slice(2);
const environment = new LocalEnvironment({ workspaceDir, scratchpadDir, tools: builtInTools() });
const build = createBuilders(() => Date.now());
const toolCall = build.toolCall({ name: "exec_command", arguments: JSON.stringify({ cmd }), toolCallId: "a" });
for await (const { payload } of environment.executeTool({ toolCall })) {
  if (payload.type === "tool_call_output") console.log(payload.output);
}
await environment.dispose();
