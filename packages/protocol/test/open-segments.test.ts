import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fragmentsOf, isPartial, type OmniMessage, OpenSegments } from "../src/index.ts";
import { at, contentOf } from "./support/builders.ts";
import {
  callSegment,
  disciplinedStream,
  faultsOf,
  inOrigin,
  origins,
  outputSegment,
  segmentKey,
  stopReasonOf,
  textSegment,
  thinkingSegment,
} from "./support/streams.ts";

function tracked(...messages: OmniMessage[]): OpenSegments {
  const segments = new OpenSegments();
  for (const message of messages) segments.track(message);
  return segments;
}

const streamAndCut = fc
  .tuple(disciplinedStream, fc.nat())
  .map(([stream, cut]) => stream.slice(0, cut % (stream.length + 1)));

describe("a disciplined stream, cut anywhere", () => {
  test("has for each start its stop and its complete message, equal to its deltas, once it is closed", () => {
    fc.assert(
      fc.property(streamAndCut, fc.constantFrom("aborted", "failed", "completed"), (prefix, reason) => {
        const segments = tracked(...prefix);
        const closing = segments.close(reason, at);
        expect(faultsOf([...prefix, ...closing])).toEqual([]);
        expect(segments.size).toBe(0);
        expect(segments.open()).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test("is closed with the reason where a stop was missing, and with the stop's own where only the message was", () => {
    fc.assert(
      fc.property(streamAndCut, (prefix) => {
        const stops = new Map(prefix.filter(isStop).map((stop) => [segmentKey(stop), stopReasonOf(stop)]));
        const segments = tracked(...prefix);
        const stopped = new Set(
          segments.open().flatMap((segment) => (segment.stopped ? fragmentsOf(segment, at).map(segmentKey) : [])),
        );
        for (const message of segments.close("timeout", at)) {
          const key = segmentKey(message);
          expect(stopReasonOf(message)).toBe(stopped.has(key) ? stops.get(key) : "timeout");
        }
      }),
    );
  });

  test("shows what is open to a late reader, for whom the rest of the stream is disciplined too", () => {
    fc.assert(
      fc.property(disciplinedStream, fc.nat(), (stream, at_) => {
        const cut = at_ % (stream.length + 1);
        const shown = tracked(...stream.slice(0, cut))
          .open()
          .flatMap((segment) => fragmentsOf(segment, at));
        expect(faultsOf([...shown, ...stream.slice(cut)])).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test("has nothing open at its end", () => {
    fc.assert(
      fc.property(disciplinedStream, (stream) => {
        expect(tracked(...stream).close("aborted", at)).toEqual([]);
      }),
    );
  });

  test("has the same open in one Session, whatever the others say in between", () => {
    fc.assert(
      fc.property(streamAndCut, fc.nat(origins.length - 1), (prefix, index) => {
        const origin = JSON.stringify(origins[index]);
        const isOurs = (one: { origin?: readonly string[] | undefined }): boolean =>
          JSON.stringify(one.origin ?? []) === origin;
        const together = tracked(...prefix)
          .open()
          .filter(isOurs);
        expect(together).toEqual(tracked(...prefix.filter(isOurs)).open());
      }),
      { numRuns: 300 },
    );
  });
});

function isStop(message: OmniMessage): boolean {
  return isPartial(message) && message.payload.event_type === "stop";
}

describe("close", () => {
  const halfOpen = [
    ...thinkingSegment(["hm"]).slice(0, -2),
    ...textSegment(["Hel", "lo"]).slice(0, -1),
    ...callSegment("c1", ['{"a":', "1"]).slice(0, -2),
    ...outputSegment("c0", ["line\n"]).slice(0, -2),
  ];

  test("gives stop and complete message in order of opening; a stopped segment gets the complete message alone", () => {
    expect(tracked(...halfOpen).close("aborted", at)).toStrictEqual([
      at.partialThinking("stop", "", "aborted"),
      at.thinking("hm", { stopReason: "aborted" }),
      at.assistantText("Hello"),
      at.partialToolCall({ eventType: "stop", name: "read_file", toolCallId: "c1", stopReason: "aborted" }),
      at.toolCall({ name: "read_file", toolCallId: "c1", arguments: '{"a":1', stopReason: "aborted" }),
      at.partialToolCallOutput({ eventType: "stop", toolCallId: "c0", stopReason: "aborted" }),
      at.toolCallOutput({ output: "line\n", toolCallId: "c0", images: ["data:,0"], stopReason: "aborted" }),
    ]);
  });

  test("leaves `completed` unsaid", () => {
    expect(tracked(at.partialText("start")).close("completed", at)).toStrictEqual([
      at.partialText("stop"),
      at.assistantText(""),
    ]);
  });

  test("closes only what was asked for", () => {
    const segments = tracked(...halfOpen);
    const closed = segments.close("failed", at, { which: (segment) => segment.kind === "tool_output" });
    expect(closed.map((message) => message.payload.type)).toEqual(["partial_tool_call_output", "tool_call_output"]);
    expect(segments.open().map((segment) => segment.kind)).toEqual(["thinking", "text", "tool_call"]);
  });

  test("adds the note as a delta to running outputs alone", () => {
    const stoppedOutput = outputSegment("c9", ["done"]).slice(0, -1);
    const segments = tracked(...halfOpen, ...stoppedOutput);
    const closing = segments.close("timeout", at, { outputNote: "[timed out]" });
    expect(faultsOf([...halfOpen, ...stoppedOutput, ...closing])).toEqual([]);
    const outputs = closing.filter((message) => message.payload.type === "tool_call_output");
    expect(outputs.map(contentOf)).toEqual(["line\n[timed out]", "done"]);
    expect(closing.filter((message) => isPartial(message) && message.payload.event_type === "delta")).toHaveLength(1);
    expect(closing.filter((message) => contentOf(message).includes("[timed out]"))).toHaveLength(2);
  });

  test("tags what it makes for a child Session, outermost id first", () => {
    const segments = tracked(inOrigin(at.partialText("start", "hi"), ["outer", "inner"]));
    expect(segments.close("aborted", at).map((message) => message.origin)).toEqual([
      ["outer", "inner"],
      ["outer", "inner"],
    ]);
  });
});

describe("what is open", () => {
  test("is given as copies that later messages do not change", () => {
    const segments = tracked(at.partialToolCallOutput({ eventType: "start", toolCallId: "c1", images: ["data:,a"] }));
    const before = segments.open();
    segments.track(
      at.partialToolCallOutput({ eventType: "delta", toolCallId: "c1", output: "x", images: ["data:,b"] }),
    );
    expect(before).toMatchObject([{ kind: "tool_output", output: "", images: ["data:,a"] }]);
    expect(segments.open()).toMatchObject([{ output: "x", images: ["data:,a", "data:,b"] }]);
  });

  test("can be asked for and taken", () => {
    const segments = tracked(at.partialText("start", "a"), at.partialThinking("start", "b"));
    expect(segments.some((segment) => segment.kind === "text")).toBe(true);
    expect(segments.take((segment) => segment.kind === "text")).toMatchObject([{ kind: "text", text: "a" }]);
    expect(segments.some((segment) => segment.kind === "text")).toBe(false);
    expect(segments.size).toBe(1);
  });

  test("is not ended by what a user says", () => {
    const segments = tracked(
      at.partialText("start"),
      at.userText("stop"),
      at.userImage("data:,"),
      at.requestEnd("failed"),
    );
    expect(segments.size).toBe(1);
  });

  test("an empty origin is this Session", () => {
    const segments = tracked(at.partialText("start"), { ...at.partialText("delta", "a"), origin: [] });
    expect(segments.open()).toMatchObject([{ text: "a", origin: undefined }]);
  });
});

describe("a stream without discipline", () => {
  test.each<[string, OmniMessage[], OmniMessage[]]>([
    ["a delta without a start opens its segment", [at.partialText("delta", "a")], [at.assistantText("a")]],
    ["a stop with content opens its segment", [at.partialThinking("stop", "a")], [at.thinking("a")]],
    ["a stop with nothing is nothing", [at.partialText("stop"), at.partialThinking("stop")], []],
    [
      "a stop with nothing is nothing, also of a call and an output of a child",
      [
        inOrigin(at.partialToolCall({ eventType: "stop", name: "n", toolCallId: "c" }), ["a"]),
        inOrigin(at.partialToolCallOutput({ eventType: "stop", toolCallId: "c" }), ["a"]),
      ],
      [],
    ],
    [
      "a second start goes on",
      [at.partialText("start", "a"), at.partialText("start"), at.partialText("delta", "b")],
      [at.assistantText("ab")],
    ],
    [
      "a start after a stop is a segment of its own",
      [...textSegment(["a"]).slice(0, -1), ...textSegment(["b"]).slice(0, -1)],
      [at.assistantText("a"), at.assistantText("b")],
    ],
    [
      "a name that comes late is taken",
      [
        at.partialToolCall({ eventType: "start", name: "", toolCallId: "c" }),
        at.partialToolCall({ eventType: "delta", name: "late", toolCallId: "c" }),
      ],
      [at.toolCall({ name: "late", toolCallId: "c", arguments: "" })],
    ],
    [
      "an image alone opens an output",
      [at.partialToolCallOutput({ eventType: "stop", toolCallId: "c", images: ["data:,"] })],
      [at.toolCallOutput({ output: "", toolCallId: "c", images: ["data:,"] })],
    ],
    ["a complete message before its stop ends the segment", [at.partialText("start"), at.assistantText("a")], []],
  ])("%s", (_name, stream, expected) => {
    const segments = tracked(...stream);
    expect(segments.close("completed", at).filter((message) => !isPartial(message))).toEqual(expected);
    expect(segments.size).toBe(0);
  });

  test("any order of fragments is closed to nothing open", () => {
    const shuffled = disciplinedStream.chain((stream) => fc.shuffledSubarray(stream));
    fc.assert(
      fc.property(shuffled, (stream) => {
        const segments = tracked(...stream);
        const open = segments.open();
        const completed = segments.close("aborted", at).filter((message) => !isPartial(message));
        expect(completed.map(segmentKey)).toEqual(
          open.map((segment) => segmentKey(fragmentsOf(segment, at)[0] ?? at.requestBegin())),
        );
        expect(segments.size).toBe(0);
        expect(segments.close("aborted", at)).toEqual([]);
      }),
    );
  });
});
