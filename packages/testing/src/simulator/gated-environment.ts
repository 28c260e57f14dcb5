/** Any Environment, with the schedule between it and the engine: what it yields comes when it is let through. */
import type { EnvironmentInterface, ExecuteToolRequest, OmniMessage } from "@coxswain/core";
import type { Background } from "./background.ts";
import type { FeatureSet } from "./features.ts";
import type { Gates } from "./gates.ts";
import type { Observer, ToolCall } from "./observation.ts";
import type { Random } from "./random.ts";
import { eventLoopTurn } from "../event-loop.ts";

export interface ToolWorld {
  random: Random;
  features: FeatureSet;
  gates: Gates;
  log: Observer;
  background: Background;
  /** Calls that run now, by id. */
  running: Set<string>;
  /** How many turns of the event loop a step of a tool may take before it counts as still running. */
  patience: number;
}

export function gatedEnvironment(inner: EnvironmentInterface, world: ToolWorld): EnvironmentInterface {
  return {
    ...(inner.connect === undefined ? {} : { connect: (signal?: AbortSignal) => connect(inner, world, signal) }),
    listTools: () => listTools(inner, world),
    executeTool: (request) => execute(inner, world, request),
    ...(inner.forbids === undefined ? {} : { forbids: (call) => forbids(inner, world, call) }),
    ...(inner.preview === undefined ? {} : { preview: async (call) => inner.preview?.(call) }),
    toolPermission: (name) => inner.toolPermission(name),
    onReport: (listener) => {
      const stops = [world.background.listen(listener), inner.onReport?.(listener)];
      return () => stops.forEach((stop) => stop?.());
    },
  };
}

function forbids(inner: EnvironmentInterface, { log }: ToolWorld, call: ToolCall): string | undefined {
  const rule = inner.forbids?.(call);
  if (rule !== undefined) log.add({ at: "vetoed", toolCallId: call.payload.tool_call_id });
  return rule;
}

async function listTools(inner: EnvironmentInterface, world: ToolWorld) {
  const { random, features, gates } = world;
  const isSlow = random.chance(0.1);
  const isBroken = random.chance(0.03);
  const isSilent = random.chance(0.01);
  if (isSilent && features.has("silent parts")) return gates.never("the list of tools never comes");
  if (isSlow) await gates.pass("environment", "tools are listed");
  if (isBroken && features.has("tool faults")) throw new Error("the tools cannot be listed");
  return inner.listTools();
}

async function* connect(
  inner: EnvironmentInterface,
  { gates }: ToolWorld,
  signal: AbortSignal | undefined,
): AsyncGenerator<OmniMessage> {
  for await (const message of inner.connect?.(signal) ?? []) {
    await gates.pass("environment", "a server connects");
    yield message;
  }
}

async function* execute(
  inner: EnvironmentInterface,
  world: ToolWorld,
  request: ExecuteToolRequest,
): AsyncGenerator<OmniMessage> {
  const { log, random, features, gates } = world;
  const { tool_call_id: toolCallId, name } = request.toolCall.payload;
  log.add({ at: "tool", call: request.toolCall, isVetoed: inner.forbids?.(request.toolCall) !== undefined });
  world.running.add(toolCallId);
  let stepsBeforeSilence = random.chance(0.04) ? random.int(0, 3) : Number.POSITIVE_INFINITY;
  if (!features.has("silent parts")) stepsBeforeSilence = Number.POSITIVE_INFINITY;
  let how = "ends without an output";
  try {
    const stream = inner.executeTool(request);
    for (;;) {
      if (stepsBeforeSilence === 0) return await gates.never(`the tool ${name} never ends`);
      stepsBeforeSilence -= 1;
      const result = await step(stream, world, `tool ${name} (${toolCallId})`);
      if (result.done === true) return;
      how = result.value.payload.type === "tool_call_output" ? "has an output" : how;
      yield result.value;
    }
  } catch (error) {
    how = "throws";
    throw error;
  } finally {
    world.running.delete(toolCallId);
    log.add({ at: "tool ends", toolCallId, how });
  }
}

/** Asks the tool for more when the gate is opened; the schedule waits for the answer as long as it has patience. */
function step(
  stream: AsyncGenerator<OmniMessage>,
  { gates, patience }: ToolWorld,
  label: string,
): Promise<IteratorResult<OmniMessage>> {
  return new Promise((resolve, reject) => {
    gates.add({
      kind: "tool",
      label,
      open: async () => {
        let isSettled = false;
        const settle = (): void => {
          isSettled = true;
        };
        const next = stream.next();
        next.then(resolve, reject);
        next.then(settle, settle);
        for (let turns = 0; turns < patience && !isSettled; turns += 1) await eventLoopTurn();
      },
    });
  });
}
