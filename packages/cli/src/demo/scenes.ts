/** What the demo shows, in order. What the model says to it is in `demo/scenario.yaml`. */
import { isPayload, type OmniMessage } from "@coxswain/protocol";
import type { Stage } from "./stage.ts";

export interface Scene {
  title: string;
  /** What is going to happen. */
  before: string;
  play(stage: Stage): Promise<void>;
  /** Why nothing was lost. */
  after: string;
}

export const scenes: readonly Scene[] = [
  {
    title: "A Task",
    before: "The model calls tools; what only reads is allowed at once, what changes something is asked about.",
    play: (stage) => stage.task("Gather the open points of these notes into one file."),
    after: "Each call was decided before it ran, and each message was in the Trace before you saw it.",
  },
  {
    title: "The connection drops",
    before: "The model has called a tool when its connection breaks. Nobody does anything about it.",
    play: (stage) => stage.task("Do we have rope on board?"),
    after:
      "After a short wait the request was sent again by itself. [sent] shows what came with it: what had been said, and the call with " +
      "its output. So the tool did not run twice, and the model went on from there.",
  },
  {
    title: "Somebody steers",
    before: "While a tool is running, you say something else to the Task that runs.",
    play: (stage) =>
      stage.task(
        "Is the tide high enough to sail?",
        onFirstReading(() => stage.steer("Who is at the helm?")),
      ),
    after:
      "The tool ran on undisturbed. Your words went to the model as a message of their own, beside the tool's output, with the next " +
      "request; they are in the Trace as what you typed is.",
  },
  {
    title: "An interrupt, and how it goes on",
    before:
      "Two tools are called. One is done, the other one in the middle of its work when you interrupt (as ^C would).",
    play: async (stage) => {
      await stage.task(
        "When does the tide turn?",
        onReadingAfterAnOutput(() => stage.interrupt()),
      );
      await stage.task("Go on with what you have.");
    },
    after:
      "The interrupt ended the tool and the Task at once. With your next words [sent] the model got the output that was there, and of " +
      "the other call as much as it had said, marked as interrupted. Each call has its output, so no provider refuses the conversation.",
  },
  {
    title: "A compaction",
    before: "The conversation is summed up, and a new model context begins with the summary.",
    play: async (stage) => {
      await stage.compact();
      await stage.task("Where were we?");
    },
    after:
      "The model was sent the summary instead of all that came before it. That is still there, unchanged, in the first Trace file; the " +
      "new context has a second one.",
  },
];

type Watch = (message: OmniMessage) => void;

function onFirstReading(act: () => void): Watch {
  let isDone = false;
  return (message) => {
    if (isDone || !isReading(message)) return;
    isDone = true;
    act();
  };
}

/** A tool has given its output, another one is still at work. */
function onReadingAfterAnOutput(act: () => void): Watch {
  let hasOutput = false;
  const onReading = onFirstReading(act);
  return (message) => {
    if (isPayload(message, "tool_call_output")) hasOutput = true;
    if (hasOutput) onReading(message);
  };
}

function isReading(message: OmniMessage): boolean {
  return isPayload(message, "partial_tool_call_output") && message.payload.event_type === "delta";
}
