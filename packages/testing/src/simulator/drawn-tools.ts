/** The tools of a life that was given none: well-behaved, faulty, talkative, and one that is forbidden. */
import {
  type Builders,
  type EnvironmentInterface,
  type ExecuteToolRequest,
  type OmniMessage,
  withOrigin,
} from "@coxswain/core";
import type { FeatureSet } from "./features.ts";
import type { Random } from "./random.ts";
import { modelText, pieces } from "./texts.ts";

export interface DrawnToolsOptions {
  random: Random;
  build: Builders;
  features: FeatureSet;
  /** A session id that no other child has. */
  newChildId: () => string;
}

export const drawnCalls: readonly [{ name: string }, ...{ name: string }[]] = [
  { name: "echo" },
  { name: "echo" },
  { name: "stream" },
  { name: "stream" },
  { name: "parent" },
  { name: "forbidden" },
  { name: "unknown" },
];

type Output = AsyncGenerator<OmniMessage, void>;

export function drawnTools(options: DrawnToolsOptions): EnvironmentInterface {
  const { features, random } = options;
  return {
    listTools: () =>
      Promise.resolve(
        ["echo", "stream", "parent", "forbidden"].map((name) => ({ name, description: `the tool ${name}` })),
      ),
    executeTool: (request) => {
      const isFaulty = random.chance(0.2);
      return isFaulty && features.has("tool faults") ? runFaulty(request, options) : run(request, options);
    },
    forbids: (call) => (call.payload.name === "forbidden" && features.has("denials") ? "no such thing" : undefined),
    toolPermission: () => "rw",
  };
}

function run(request: ExecuteToolRequest, options: DrawnToolsOptions): Output {
  const { name, arguments: json, tool_call_id: toolCallId } = request.toolCall.payload;
  if (json === "{") return fail(`these arguments are no JSON: ${json}`, toolCallId, options);
  switch (name) {
    case "stream":
      return stream(toolCallId, options);
    case "parent":
      return options.features.has("children") ? delegate(toolCallId, options) : echo(json, toolCallId, options);
    case "unknown":
      return fail(`there is no tool ${name}`, toolCallId, options);
    default:
      return echo(json, toolCallId, options);
  }
}

async function* fail(output: string, toolCallId: string, { build }: DrawnToolsOptions): Output {
  yield build.toolCallOutput({ toolCallId, output, stopReason: "failed" });
}

async function* echo(json: string, toolCallId: string, { build, random }: DrawnToolsOptions): Output {
  if (random.chance(0.1)) yield build.notice("info", "tool_notice", "about to answer");
  const images = random.chance(0.1) ? ["data:image/png;base64,AA=="] : [];
  yield build.toolCallOutput({ toolCallId, output: random.chance(0.1) ? "" : `answer to ${json}`, images });
}

async function* stream(toolCallId: string, { build, random }: DrawnToolsOptions): Output {
  const text = `${modelText(random)} and ${modelText(random)}`;
  yield build.partialToolCallOutput({ eventType: "start", toolCallId });
  for (const output of pieces(random, text)) {
    yield build.partialToolCallOutput({ eventType: "delta", toolCallId, output });
  }
  yield build.partialToolCallOutput({ eventType: "stop", toolCallId });
  yield build.toolCallOutput({ toolCallId, output: text });
}

/** A child Session, and sometimes one of its own. */
async function* delegate(toolCallId: string, { build, random, newChildId }: DrawnToolsOptions): Output {
  const child = newChildId();
  const grandchild = random.chance(0.3) ? newChildId() : undefined;
  const inChild = (message: OmniMessage): OmniMessage =>
    withOrigin(grandchild === undefined ? message : withOrigin(message, grandchild), child);
  yield inChild(build.requestBegin());
  yield inChild(build.partialText("start"));
  yield inChild(build.partialText("delta", "working"));
  yield inChild(build.partialText("stop"));
  yield inChild(build.assistantText("working"));
  yield inChild(build.toolCall({ name: "echo", arguments: "{}", toolCallId: "a" }));
  yield inChild(build.requestEnd("completed"));
  yield build.toolCallOutput({ toolCallId, output: "the child is done" });
}

async function* runFaulty(request: ExecuteToolRequest, { build, random }: DrawnToolsOptions): Output {
  const { tool_call_id: toolCallId } = request.toolCall.payload;
  const isStreaming = random.chance(0.5);
  if (isStreaming) {
    yield build.partialToolCallOutput({ eventType: "start", toolCallId });
    yield build.partialToolCallOutput({ eventType: "delta", toolCallId, output: "so far" });
  }
  const fault = random.int(0, 4);
  if (fault === 0) throw new Error("the tool broke");
  if (fault === 1) return;
  if (isStreaming) yield build.partialToolCallOutput({ eventType: "stop", toolCallId });
  switch (fault) {
    case 2:
      yield build.toolCallOutput({ toolCallId, output: "first" });
      return yield build.toolCallOutput({ toolCallId, output: "second" });
    case 3:
      return yield build.toolCallOutput({ toolCallId: "of somebody else", output: "an output with a wrong id" });
    default:
      return yield build.toolCallOutput({ toolCallId, output: "it did not work", stopReason: "failed" });
  }
}
