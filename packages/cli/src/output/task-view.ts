/** What shows a Task while it runs. */
import type { OmniMessage } from "@coxswain/protocol";
import type { TaskOutcome } from "../task-outcome.ts";

export interface TaskView {
  show(message: OmniMessage): Promise<void>;
  /** After the last message. */
  end(outcome: TaskOutcome): Promise<void>;
}
