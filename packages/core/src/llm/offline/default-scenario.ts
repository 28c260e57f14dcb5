/** What the offline model plays when nobody gives it a scenario. */
import type { Scenario } from "./scenario.ts";

export const defaultScenario: Scenario = {
  steps: [
    {
      thinking: "A look at the files of the Workspace comes first; then I can say what is there.",
      text: "I will list the files of the Workspace, then answer.",
      calls: [{ name: "exec_command", arguments: JSON.stringify({ cmd: "ls -a" }) }],
    },
    {
      text:
        "That is the list of files. The call and its output are real: your approval, the command and the record all " +
        "went the same way as with any other model. Only my words come from a script.",
    },
  ],
};
