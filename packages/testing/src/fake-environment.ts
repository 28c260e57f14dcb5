/** Tools that are functions, framed as an Environment frames them. */
import {
  type BackgroundReport,
  type Builders,
  createBuilders,
  type EnvironmentInterface,
  type ExecuteToolRequest,
  type OmniMessage,
  type StopReason,
  type ToolCallPayload,
  type ToolPermission,
} from "@coxswain/core";

type FakeOutput = string | { output: string; images?: string[]; stopReason?: StopReason };

export interface FakeTool {
  permission?: ToolPermission;
  /** What it yields streams, and is the output unless it returns another. */
  run(
    args: Record<string, unknown>,
    request: ExecuteToolRequest,
  ): FakeOutput | Promise<FakeOutput> | AsyncGenerator<string, FakeOutput | void>;
}

export interface FakeEnvironment extends EnvironmentInterface {
  /** The calls that were run, in order of their start. */
  readonly executed: OmniMessage<ToolCallPayload>[];
  readonly isDisposed: boolean;
  /** Background work ends. */
  report(report: BackgroundReport): void;
}

export function fakeEnvironment(
  tools: Record<string, FakeTool["run"] | FakeTool>,
  options: {
    forbids?: (toolCall: OmniMessage<ToolCallPayload>) => string | undefined;
    build?: Builders;
  } = {},
): FakeEnvironment {
  const build = options.build ?? createBuilders(() => Date.now());
  const named = new Map(
    Object.entries(tools).map(([name, tool]) => [name, typeof tool === "function" ? { run: tool } : tool]),
  );
  const executed: OmniMessage<ToolCallPayload>[] = [];
  const listeners = new Set<(report: BackgroundReport) => void>();
  let isDisposed = false;
  return {
    executed,
    report(report) {
      for (const listener of listeners) listener(report);
    },
    onReport(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    get isDisposed() {
      return isDisposed;
    },
    listTools: () =>
      Promise.resolve(
        Array.from(named, ([name, tool]) => ({
          name,
          description: `the fake tool ${name}`,
          parameters: { type: "object" },
          permission: tool.permission ?? "rw",
        })),
      ),
    executeTool(request) {
      executed.push(request.toolCall);
      return frame(named.get(request.toolCall.payload.name), request, build);
    },
    ...(options.forbids === undefined ? {} : { forbids: options.forbids }),
    toolPermission: (name) => named.get(name)?.permission ?? (named.has(name) ? "rw" : undefined),
    dispose() {
      isDisposed = true;
    },
  };
}

async function* frame(
  tool: FakeTool | undefined,
  request: ExecuteToolRequest,
  build: Builders,
): AsyncGenerator<OmniMessage> {
  const { name, arguments: json, tool_call_id: toolCallId } = request.toolCall.payload;
  if (tool === undefined) {
    yield build.toolCallOutput({ toolCallId, output: `there is no tool ${name}`, stopReason: "failed" });
    return;
  }
  try {
    const parsed: unknown = JSON.parse(json === "" ? "{}" : json);
    const result = tool.run(parsed as Record<string, unknown>, request);
    const whole = isStream(result) ? yield* stream(result, toolCallId, build) : await result;
    yield build.toolCallOutput({ toolCallId, ...(typeof whole === "string" ? { output: whole } : whole) });
  } catch (error) {
    yield build.toolCallOutput({ toolCallId, output: String(error), stopReason: "failed" });
  }
}

async function* stream(
  deltas: AsyncGenerator<string, FakeOutput | void>,
  toolCallId: string,
  build: Builders,
): AsyncGenerator<OmniMessage, FakeOutput> {
  let output = "";
  yield build.partialToolCallOutput({ eventType: "start", toolCallId });
  for (;;) {
    const result = await deltas.next();
    if (result.done === true) {
      yield build.partialToolCallOutput({ eventType: "stop", toolCallId });
      return result.value ?? output;
    }
    output += result.value;
    yield build.partialToolCallOutput({ eventType: "delta", toolCallId, output: result.value });
  }
}

function isStream(result: unknown): result is AsyncGenerator<string, FakeOutput | void> {
  return typeof result === "object" && result !== null && Symbol.asyncIterator in result;
}
