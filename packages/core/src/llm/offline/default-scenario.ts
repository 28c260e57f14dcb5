/** What the offline model plays when nobody gives it a scenario. */
import type { Scenario } from "./scenario.ts";

export const defaultScenario: Scenario = {
  steps: [
    {
      thinking: "A look at the files of the Workspace comes first; then I can say what is there.",
      text: "I will list the files of the Workspace, then answer.",
      calls: [{ name: "list_files", arguments: JSON.stringify({ path: "." }) }],
    },
    {
      text:
        "That was a real call, allowed or denied as you or your settings decided, and recorded as with any other model. " +
        "Only my words come from a script.",
    },
  ],
};
