import { isPayload } from "@coxswain/protocol";
import { ManualClock } from "@coxswain/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defineTool } from "../../src/environment/define-tool.ts";
import { callOf, createWorld, run } from "./support.ts";
import { answering, streaming } from "./tools.ts";

const none = { type: "object" };

describe("what a tool gives", () => {
  test("a string is the output, nothing is [no output], a JSON value becomes its text", async () => {
    for (const [value, output] of [
      ["text", "text"],
      ["", "[no output]"],
      [undefined, "[no output]"],
      [null, "null"],
      [{ a: [1] }, '{\n  "a": [\n    1\n  ]\n}'],
      [{ output: "said", other: 1 }, '{\n  "output": "said",\n  "other": 1\n}'],
    ]) {
      const { environment } = await createWorld({ tools: [answering(() => value)] });
      expect(await run(environment, "answer", "")).toMatchObject({ output, status: "completed" });
    }
  });

  test("output, images, note and stop reason are taken as they are", async () => {
    const image = "data:image/png;base64,AA==";
    const result = { output: "seen", images: [image], note: "[exit code: 3]", stopReason: "failed" };
    const { environment } = await createWorld({ tools: [answering(async () => result)] });
    const ran = await run(environment, "answer", {});
    expect(ran.payload).toMatchObject({ output: "seen\n[exit code: 3]", images: [image], stop_reason: "failed" });
    expect(ran.messages).toHaveLength(1);
  });

  test("deltas are shown as start, deltas and stop, and their joined text is the output", async () => {
    const { environment } = await createWorld({ tools: [streaming(["a", "b", "c"])] });
    const ran = await run(environment, "speak", {});
    const events = ran.messages.map((message) =>
      isPayload(message, "partial_tool_call_output") ? message.payload.event_type : message.payload,
    );
    expect(events.slice(0, -1)).toEqual(["start", "delta", "delta", "delta", "stop"]);
    expect(ran).toMatchObject({ output: "abc", view: "abc" });
  });

  test("a value that has no JSON text, a throw and a rejection are failed outputs", async () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    const bad = [
      () => cyclic,
      () => 5n,
      () => Promise.reject(new Error("no luck")),
      () => {
        throw new Error("no luck");
      },
      async function* () {
        yield "some";
        throw new Error("no luck");
      },
    ];
    for (const execute of bad) {
      const { environment } = await createWorld({ tools: [answering(execute)] });
      const ran = await run(environment, "answer", {});
      expect(ran.status).toBe("failed");
      expect(ran.output).toContain("The tool failed: ");
    }
  });
});

describe("calls that cannot be run", () => {
  test("an unknown tool is answered with the real names", async () => {
    const { environment } = await createWorld();
    const ran = await run(environment, "launch_rocket", {});
    expect(ran.status).toBe("failed");
    for (const name of ["launch_rocket", "exec_command", "read_file", "edit_file", "write_file", "list_files"]) {
      expect(ran.output).toContain(name);
    }
  });

  test.each([
    ["[]", "an array"],
    ['"text"', "a string"],
    ["null", "null"],
    ['{"file_path": "a.t', "not valid JSON"],
    ['{"file_path": 3}', "file_path: must be of type string, not number"],
    ['{"path": "a"}', "path: there is no such argument"],
    ["{}", "file_path: is missing"],
    ["", "file_path: is missing"],
  ])("arguments %s are answered with what is wrong and what would be right", async (text, wrong) => {
    const { environment } = await createWorld();
    const ran = await run(environment, "read_file", text);
    expect(ran.status).toBe("failed");
    expect(ran.output).toContain(wrong);
    expect(ran.output).toContain("file_path (string, required)");
  });

  test("empty arguments mean an empty object", async () => {
    let got: unknown;
    const tool = defineTool({
      name: "take",
      description: "",
      parameters: none,
      permission: "r",
      execute: (args) => {
        got = args;
      },
    });
    const { environment } = await createWorld({ tools: [tool] });
    expect(await run(environment, "take", "  ")).toMatchObject({ status: "completed" });
    expect(got).toEqual({});
  });

  test("whatever the arguments are, there is one output and no throw", async () => {
    const { environment } = await createWorld();
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.json()), async (text) => {
        expect((await run(environment, "read_file", text)).output).not.toBe("");
      }),
      { numRuns: 100 },
    );
  });
});

describe("stopping", () => {
  const deaf = (more = {}) =>
    defineTool({
      name: "deaf",
      description: "",
      parameters: none,
      permission: "r",
      ...more,
      async *execute() {
        yield "so far";
        await new Promise(() => undefined);
      },
    });

  test("a deaf tool is left at the signal, with what it said", async () => {
    const { environment } = await createWorld({ tools: [deaf()] });
    const controller = new AbortController();
    const ran = await run(environment, "deaf", {}, { signal: controller.signal, onMessage: () => controller.abort() });
    expect(ran.status).toBe("aborted");
    expect(ran.output).toBe("so far\n[interrupted: tool aborted by user]");
  });

  test("a time-out goes by the injected clock and leaves nothing that sleeps", async () => {
    const clock = new ManualClock();
    const { environment } = await createWorld({ clock, tools: [deaf({ timeoutMs: 5000 })] });
    let advanced = false;
    const onMessage = (): void => {
      if (!advanced) clock.advance(5000);
      advanced = true;
    };
    const ran = await run(environment, "deaf", {}, { onMessage });
    expect(ran).toMatchObject({ status: "timeout", output: "so far\n[timed out after 5 s]" });
    expect(ran.messages.at(-1)?.timestamp).toBe("2026-01-01T00:00:05.000Z");
    expect(clock.sleeping).toEqual([]);
  });

  test("an interrupt is told before a throw and before what the tool says", async () => {
    const controller = new AbortController();
    const execute = (): unknown => {
      controller.abort();
      throw new Error("also failed");
    };
    const { environment } = await createWorld({ tools: [answering(execute)] });
    expect(await run(environment, "answer", {}, { signal: controller.signal })).toMatchObject({ status: "aborted" });
  });

  test("a signal that fired before means that the tool does not run", async () => {
    let runs = 0;
    const { environment } = await createWorld({ tools: [answering(() => runs++)] });
    expect(await run(environment, "answer", {}, { signal: AbortSignal.abort() })).toMatchObject({ status: "aborted" });
    expect(runs).toBe(0);
  });

  test("a tool that never waits does not keep its time-out from coming", async () => {
    const tool = defineTool({
      name: "flood",
      description: "",
      parameters: none,
      permission: "r",
      timeoutMs: 20,
      async *execute() {
        for (;;) yield "x";
      },
    });
    const { environment } = await createWorld({ tools: [tool] });
    expect(await run(environment, "flood", {})).toMatchObject({ status: "timeout" });
  });

  test("a reader that leaves early ends the tool", async () => {
    let ended: (() => void) | undefined;
    const over = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const tool = defineTool({
      name: "wait",
      description: "",
      parameters: none,
      permission: "r",
      async *execute(_args, context) {
        context.signal.addEventListener("abort", () => ended?.());
        yield "one";
        yield "two";
      },
    });
    const { environment } = await createWorld({ tools: [tool] });
    for await (const _message of environment.executeTool({ toolCall: callOf("wait", {}) })) break;
    await over;
  });

  test("the signal of a tool that came to its end does not fire", async () => {
    let signal: AbortSignal | undefined;
    const tool = defineTool({
      name: "keep",
      description: "",
      parameters: none,
      permission: "r",
      execute: (_args, context) => {
        signal = context.signal;
      },
    });
    const { environment } = await createWorld({ tools: [tool] });
    await run(environment, "keep", {});
    expect(signal?.aborted).toBe(false);
  });

  test("dispose interrupts what runs, twice is once, and afterwards nothing starts", async () => {
    const { environment } = await createWorld({ tools: [deaf()] });
    const ran = await run(environment, "deaf", {}, { onMessage: () => void environment.dispose() });
    await environment.dispose();
    expect(ran.status).toBe("aborted");
    expect(await run(environment, "deaf", {})).toMatchObject({
      status: "aborted",
      output: expect.not.stringContaining("so far"),
    });
  });
});

test("tools are listed with their permission, and two of one name are refused", async () => {
  const { environment } = await createWorld();
  const tools = await environment.listTools();
  expect(tools.map((tool) => tool.name)).toEqual([
    "exec_command",
    "input_command",
    "kill_command",
    "read_file",
    "edit_file",
    "write_file",
    "list_files",
    "search_files",
  ]);
  expect(environment.toolPermission("read_file")).toBe("r");
  expect(environment.toolPermission("exec_command")).toBe("rw");
  expect(environment.toolPermission("other")).toBeUndefined();
  await expect(createWorld({ tools: [streaming([]), streaming([])] })).rejects.toThrow('two tools named "speak"');
});

test("limits that are none are refused in words; no limit at all is one that no timer exceeds", async () => {
  for (const maxOutputLength of [Number.NaN, 0, -5]) {
    await expect(createWorld({ maxOutputLength })).rejects.toThrow(
      `The Environment: \`maxOutputLength\` must be 1 or more, not ${maxOutputLength}.`,
    );
  }
  for (const timeoutMs of [Number.NaN, 0, -1]) {
    await expect(createWorld({ timeoutMs })).rejects.toThrow(
      `The Environment: \`timeoutMs\` must be more than 0, not ${timeoutMs}.`,
    );
  }
  const clock = new ManualClock();
  const { environment } = await createWorld({
    clock,
    timeoutMs: Number.POSITIVE_INFINITY,
    tools: [answering(async () => `${await clock.nextSleep()} ms`)],
  });
  expect((await run(environment, "answer", {})).output).toBe("2147483647 ms");
});
