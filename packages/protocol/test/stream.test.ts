import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fragmentsOf, isPartial, type OmniMessage, PartialAggregator } from "../src/index.ts";
import { at, contentOf, ticking } from "./support/builders.ts";
import {
  callSegment,
  disciplinedStream,
  faultsOf,
  inOrigin,
  outputSegment,
  segmentKey,
  textSegment,
  thinkingSegment,
} from "./support/streams.ts";

function aggregated(messages: readonly OmniMessage[]): OmniMessage[] {
  const aggregator = new PartialAggregator(at);
  const given = messages.flatMap((message) => aggregator.push(message));
  return [...given, ...aggregator.close("completed").filter((message) => !isPartial(message))];
}

function withoutComplete(segment: OmniMessage[]): OmniMessage[] {
  return segment.slice(0, -1);
}

/** Grouped by Session: how Sessions lie against each other is nobody's promise. */
function bySession(messages: readonly OmniMessage[]): Record<string, OmniMessage[]> {
  return Object.fromEntries(
    [...new Set(messages.map((message) => JSON.stringify(message.origin ?? [])))]
      .sort()
      .map((origin) => [origin, messages.filter((message) => JSON.stringify(message.origin ?? []) === origin)]),
  );
}

const counts = { input: 1, cache_read: 0, cache_write: 0, output: 1, total: 2 };

describe("aggregating a disciplined stream", () => {
  test("gives its complete messages and events, the same objects in the same order", () => {
    fc.assert(
      fc.property(disciplinedStream, (stream) => {
        const complete = stream.filter((message) => !isPartial(message));
        const given = aggregated(stream);
        expect(given).toHaveLength(complete.length);
        expect(given.every((message, index) => message === complete[index])).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("and gives the same messages when the stream leaves out every complete message that was streamed", () => {
    fc.assert(
      fc.property(disciplinedStream, (stream) => {
        const isStreamed = (message: OmniMessage): boolean => segmentKey(message) !== undefined;
        const given = aggregated(stream.filter((message) => isPartial(message) || !isStreamed(message)));
        const expected = stream.filter((message) => !isPartial(message));
        // Of one Session what the model wrote keeps its order; tools end in any.
        const ofModel = (message: OmniMessage): boolean => isStreamed(message) && !isOutput(message);
        expect(sorted(given)).toEqual(sorted(expected));
        expect(bySession(given.filter((message) => ofModel(message) && !isCall(message)))).toEqual(
          bySession(expected.filter((message) => ofModel(message) && !isCall(message))),
        );
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    ["in their order", ["c1", "c2"]],
    ["in another", ["c2", "c1"]],
  ])("gives nothing twice when every complete message of a request comes at its end, calls %s", (_name, ids) => {
    const prose = [thinkingSegment(["a"]), textSegment(["b"])];
    const fragments = [...prose, callSegment("c1", ["{}"]), callSegment("c2", ["{}"])].flatMap(withoutComplete);
    const complete = [...prose, ...ids.map((id) => callSegment(id, ["{}"]))].flatMap((segment) => segment.slice(-1));
    const end = at.requestEnd("completed");
    expect(aggregated([...fragments, ...complete, end])).toEqual([...complete, end]);
  });
});

function isOutput(message: OmniMessage): boolean {
  return message.payload.type === "tool_call_output";
}

function isCall(message: OmniMessage): boolean {
  return message.payload.type === "tool_call";
}

function sorted(messages: readonly OmniMessage[]): string[] {
  return messages.map((message) => JSON.stringify(message)).sort();
}

describe("a stream that leaves complete messages out", () => {
  const text = withoutComplete(textSegment(["Hel", "lo"]));
  const call = withoutComplete(callSegment("c1", ["{", "}"]));
  const complete = {
    text: at.assistantText("Hello"),
    call: at.toolCall({ name: "read_file", toolCallId: "c1", arguments: "{}" }),
  };

  test.each<[string, OmniMessage[], OmniMessage[]]>([
    [
      "a text is given before what was thought after it",
      [...text, at.thinking("hm")],
      [complete.text, at.thinking("hm")],
    ],
    [
      "a text is given before data that was never streamed",
      [
        ...text,
        { ...at.thinking(""), payload: { type: "inline_data", role: "assistant", data: "", mime_type: "image/png" } },
      ],
      [
        complete.text,
        { ...at.thinking(""), payload: { type: "inline_data", role: "assistant", data: "", mime_type: "image/png" } },
      ],
    ],
    ["a text is given when the next one starts", [...text, at.partialText("start")], [complete.text]],
    [
      "what was thought before it is given first",
      [...withoutComplete(thinkingSegment(["hm"])), ...text, at.partialText("start")],
      [at.thinking("hm"), complete.text],
    ],
    ["a start of another kind gives nothing", [...text, at.partialThinking("start")], []],
    ["a second start of an unstopped text gives nothing", [at.partialText("start", "a"), at.partialText("start")], []],
    ["a call is given when its id is used again", [...call, ...call.slice(0, 1)], [complete.call]],
    ["a user's text says nothing about it", [...text, at.userText("hi")], [at.userText("hi")]],
    ["a notice says nothing about it", [...text, at.notice("info", "n", "m")], [at.notice("info", "n", "m")]],
    [
      "usage ends what the model wrote, in order",
      [...text, ...call, at.tokenUsage({ session: counts, request: counts })],
      [complete.text, complete.call, at.tokenUsage({ session: counts, request: counts })],
    ],
    [
      "the end of a request gives its status to what nobody stopped",
      [...text, ...call.slice(0, 2), at.requestEnd("timeout")],
      [
        complete.text,
        at.toolCall({ name: "read_file", toolCallId: "c1", arguments: "{", stopReason: "timeout" }),
        at.requestEnd("timeout"),
      ],
    ],
    [
      "the end of a request leaves tools running",
      [...withoutComplete(outputSegment("c1", ["x"])), at.requestEnd("completed")],
      [at.requestEnd("completed")],
    ],
    [
      "the next request ends tools",
      [...outputSegment("c1", ["x"]).slice(0, 2), at.requestBegin()],
      [
        at.toolCallOutput({ output: "x", toolCallId: "c1", images: ["data:,0"], stopReason: "malformed" }),
        at.requestBegin(),
      ],
    ],
    [
      "a child's request leaves its parent alone",
      [...text.slice(0, 2), inOrigin(at.requestBegin(), ["a"])],
      [inOrigin(at.requestBegin(), ["a"])],
    ],
    [
      "a parent's request leaves its children alone",
      [...text.slice(0, 2).map((message) => inOrigin(message, ["a"])), at.requestBegin()],
      [at.requestBegin()],
    ],
    [
      "an interrupt ends the children as well",
      [...text.slice(0, 2).map((message) => inOrigin(message, ["a", "b"])), inOrigin(at.abortEvent(), ["a"])],
      [inOrigin(at.assistantText("Hel", { stopReason: "aborted" }), ["a", "b"]), inOrigin(at.abortEvent(), ["a"])],
    ],
    [
      "a child's interrupt leaves parent and siblings alone",
      [
        text.slice(0, 2),
        text.slice(0, 2).map((message) => inOrigin(message, ["b"])),
        inOrigin(at.abortEvent(), ["a"]),
      ].flat(),
      [inOrigin(at.abortEvent(), ["a"])],
    ],
  ])("%s", (_name, stream, expected) => {
    const aggregator = new PartialAggregator(at);
    expect(stream.flatMap((message) => aggregator.push(message))).toEqual(expected);
  });

  test("its messages carry the time of their stop, or of what ended them", () => {
    const build = ticking();
    const aggregator = new PartialAggregator(at);
    const stream = [build.partialText("start", "a"), build.partialText("stop"), build.partialThinking("start", "b")];
    for (const message of stream) aggregator.push(message);
    const end = build.requestEnd("failed");
    expect(aggregator.push(end).map((message) => message.timestamp)).toEqual([
      stream[1]?.timestamp,
      end.timestamp,
      end.timestamp,
    ]);
  });

  test("an unknown payload passes, whatever its name", () => {
    const unknown = JSON.parse(
      `{"timestamp":"${at.requestBegin().timestamp}","type":"model_msg","payload":{"type":"constructor"}}`,
    ) as OmniMessage;
    const aggregator = new PartialAggregator();
    expect(aggregator.push(at.partialText("start", "a"))).toEqual([]);
    expect(aggregator.push(unknown)).toEqual([unknown]);
    expect(aggregator.open()).toMatchObject([{ text: "a" }]);
  });
});

describe("a stream cut anywhere", () => {
  test("is disciplined once the aggregator has closed it", () => {
    fc.assert(
      fc.property(disciplinedStream, fc.nat(), (stream, at_) => {
        const prefix = stream.slice(0, at_ % (stream.length + 1));
        const aggregator = new PartialAggregator(at);
        for (const message of prefix) aggregator.push(message);
        expect(faultsOf([...prefix, ...aggregator.close("aborted")])).toEqual([]);
        expect(aggregator.open()).toEqual([]);
      }),
    );
  });

  test("is the same for a reader who joins there with the open fragments", () => {
    fc.assert(
      fc.property(disciplinedStream, fc.nat(), (stream, at_) => {
        const cut = at_ % (stream.length + 1);
        const first = new PartialAggregator(at);
        for (const message of stream.slice(0, cut)) first.push(message);
        const joined = new PartialAggregator(at);
        for (const message of first.open().flatMap((segment) => fragmentsOf(segment, at))) joined.push(message);
        expect(joined.open()).toEqual(first.open());
      }),
    );
  });
});

describe("fragmentsOf", () => {
  const opened = (...messages: OmniMessage[]): OmniMessage[][] => {
    const aggregator = new PartialAggregator(at);
    for (const message of messages) aggregator.push(message);
    return aggregator.open().map((segment) => fragmentsOf(segment));
  };

  test("is a start alone when nothing was said yet", () => {
    expect(opened(at.partialThinking("start"))).toStrictEqual([[at.partialThinking("start")]]);
  });

  test("joins the deltas, keeps images, and says that a segment stopped, at the segment's time", () => {
    const origin = ["a"];
    const [fragments] = opened(
      ...withoutComplete(outputSegment("c1", ["x", "y"], "failed")).map((one) => inOrigin(one, origin)),
    );
    expect(fragments).toStrictEqual(
      [
        at.partialToolCallOutput({ eventType: "start", toolCallId: "c1" }),
        at.partialToolCallOutput({
          eventType: "delta",
          toolCallId: "c1",
          output: "xy",
          images: ["data:,0", "data:,1"],
        }),
        at.partialToolCallOutput({ eventType: "stop", toolCallId: "c1", stopReason: "failed" }),
      ].map((fragment) => inOrigin(fragment, origin)),
    );
  });

  test("names the call in each fragment", () => {
    const [fragments] = opened(...callSegment("c1", ["{}"]).slice(0, 2));
    expect(fragments?.map(contentOf)).toEqual(["", "{}"]);
    expect(fragments?.map(({ payload }) => "name" in payload && payload.name)).toEqual(["read_file", "read_file"]);
  });
});
