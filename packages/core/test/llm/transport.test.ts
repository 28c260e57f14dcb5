import { describe, expect, it } from "vitest";
import { classify } from "../../src/llm/fault/outcome.ts";
import { type Fault, ProviderFault, toProviderFault } from "../../src/llm/fault/provider-fault.ts";
import { keyHider, modelFetch } from "../../src/llm/http/model-fetch.ts";
import { watchedBody } from "../../src/llm/http/watched-body.ts";
import { generate } from "./support/generate.ts";
import { answerBody, contextFor, event, protocols, testKey } from "./support/streams.ts";

const hideKeys = keyHider(testKey);

/** A body that counts what is taken from it. */
function bodyOf(pieces: Iterable<string>) {
  const iterator = pieces[Symbol.iterator]();
  const counts = { taken: 0, cancelled: 0 };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = iterator.next();
        if (done === true) return controller.close();
        counts.taken += 1;
        controller.enqueue(Buffer.from(value));
      },
      cancel() {
        counts.cancelled += 1;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, counts };
}

function watch(body: ReadableStream<Uint8Array>) {
  const faults: Fault[] = [];
  const stream = watchedBody(body, { isAborted: () => false, onFault: (fault) => faults.push(fault) });
  return { stream, faults, text: () => new Response(stream).text() };
}

describe("a watched body", () => {
  it("passes whole events on, and nothing else", async () => {
    const pieces = [": hi\n\nda", 'ta: {"a":', "1}\n", '\nevent: x\ndata: {"b":\ndata: 2}\n\n', "id: 7\ndata\n\n"];
    expect(await watch(bodyOf(pieces).body).text()).toBe('data: {"a":1}\n\ndata: {"b":\ndata: 2}\n\n');
  });

  it("is read no faster than its reader reads", async () => {
    const { body, counts } = bodyOf(Array.from({ length: 9 }, (_, index) => event({ index })));
    const reader = watch(body).stream.getReader();
    for (const taken of [0, 1, 2]) {
      expect(counts.taken).toBe(taken);
      await reader.read();
    }
    await reader.cancel();
    expect(counts).toEqual({ taken: 3, cancelled: 1 });
  });

  it("ends after the protocol's last event, whatever follows", async () => {
    const { body } = bodyOf([event({ type: "message_stop" }), "data: {oops\n\n"]);
    const { text, faults } = watch(body);
    expect([await text(), faults]).toEqual([event({ type: "message_stop" }), []]);
  });

  it("is given up when an event does not end", async () => {
    const endless = (function* () {
      yield 'data: {"text":"';
      for (;;) yield "x".repeat(1024 * 1024);
    })();
    const { body, counts } = bodyOf(endless);
    const { text, faults } = watch(body);
    expect(await text()).toBe("");
    expect(faults).toEqual([{ kind: "unreadable", detail: "an event of more than 33554432 characters" }]);
    // One read more tells whether the connection ends by itself.
    expect(counts.taken).toBeLessThanOrEqual(35);
    expect(counts.cancelled).toBe(1);
  });

  it("keeps what a failed answer cost and leaves its error out", async () => {
    const response = { error: { code: "server_error", message: "no" }, usage: { input_tokens: 3 } };
    const { text, faults } = watch(bodyOf([event({ type: "response.failed", response })]).body);
    const told = JSON.parse((await text()).replace("data: ", "")) as unknown;
    expect(told).toEqual({ type: "response.failed", sequence_number: 0, response: { ...response, error: null } });
    expect(faults).toEqual([{ kind: "error_object", error: response.error }]);
  });

  it("says of an event that the end of the body cuts that it is cut, and of another that it is no JSON", async () => {
    for (const [body, kind] of [
      ['data: {"a":', "truncated"],
      ['data: {"a":\n\n', "unreadable"],
    ] as const) {
      const { text, faults } = watch(bodyOf([body]).body);
      expect([await text(), faults]).toMatchObject(["", [{ kind }]]);
    }
  });

  it("takes no content for an error because of its words", async () => {
    const events = [
      event({ type: "response.output_text.delta", delta: "error", message: "x", error: null }),
      event({ candidates: [], message: "m", error: "" }),
      event({ type: "content_block_delta", index: 0, detail: "d" }),
    ];
    const { text, faults } = watch(bodyOf(events).body);
    expect([await text(), faults]).toEqual([events.join(""), []]);
  });
});

describe("keys in words", () => {
  const words = (fault: Fault) => classify(new ProviderFault(fault, hideKeys), 0).errorMessage;

  it.each<[string, Fault]>([
    ["a refusal", { kind: "http", status: 400, headers: {}, body: `{"error":{"message":"bad ${testKey}"}}` }],
    [
      "an escaped refusal",
      { kind: "http", status: 400, headers: {}, body: `{"message":"bad \\u0074${testKey.slice(1)}"}` },
    ],
    ["a code", { kind: "error_object", error: { code: testKey } }],
    ["an unknown shape", { kind: "error_object", error: { [testKey]: { deep: testKey } } }],
    ["an exception", { kind: "exception", error: new Error("x", { cause: new Error(`header ${testKey}`) }) }],
    ["an address", { kind: "redirect", status: 302, target: `https://example.com/${testKey}` }],
    ["something unreadable", { kind: "unreadable", detail: testKey }],
    ["a cut", { kind: "truncated", detail: `${"x ".repeat(240)}${testKey}` }],
    ["a long text", { kind: "http", status: 500, headers: {}, body: `${"é".repeat(490)}${testKey}` }],
    ["a name", { kind: "cut_call", name: testKey }],
    ["a finish reason", { kind: "empty_reply", finishReason: "stop", finishReasonRaw: testKey }],
    ["somebody's text", { kind: "told", status: "failed", message: testKey }],
  ])("of %s are hidden", (_name, fault) => {
    expect(words(fault)).not.toContain(testKey.slice(0, 9));
    expect(words(fault).length).toBeLessThan(800);
  });

  it("are hidden also when they do not look like keys", () => {
    const key = "correct horse";
    const fault = new ProviderFault({ kind: "unreadable", detail: `a ${key} b` }, keyHider(key));
    expect(classify(fault, 0).errorMessage).toContain("a [redacted] b");
    for (const none of [undefined, ""]) expect(keyHider(none)("as it is")).toBe("as it is");
  });

  it.each([190, 455, 460])("of an event that is no JSON are hidden, wherever its words are cut: %i", async (length) => {
    const { text, faults } = watch(bodyOf([`data: {${"x".repeat(length)}${testKey}\n\n`]).body);
    await text();
    expect(faults).toMatchObject([{ kind: "unreadable" }]);
    for (const fault of faults) expect(words(fault)).not.toContain(testKey.slice(0, 6));
  });

  it.each(protocols)("%s: a key that no header can hold is hidden in the refusal to send it", async (protocol) => {
    const apiKey = "odd-key-0123456789\u0001Ā";
    const { outcome } = await generate(await contextFor(protocol, "http://127.0.0.1:9", { settings: { apiKey } }));
    expect(outcome.status).toBe("failed");
    expect(outcome.errorMessage).not.toContain("odd-key");
  });
});

describe("a fault inside other errors", () => {
  const fault = new ProviderFault({ kind: "http", status: 401, headers: {}, body: "no" });

  it("is found along their causes", () => {
    const wrapped = Object.assign(new Error("m", { cause: new Error("n", { cause: fault }) }), {
      name: "AI_APICallError",
      statusCode: 200,
    });
    expect(toProviderFault(wrapped)).toBe(fault);
    expect(classify(wrapped, 0).status).toBe("auth");
  });

  it("is not looked for forever", () => {
    const circular: Error = new Error("round");
    circular.cause = circular;
    expect(toProviderFault(circular).fault.kind).toBe("exception");
    expect(classify(circular, 0).status).toBe("failed");
  });
});

describe("modelFetch", () => {
  it("leaves the caller's own end to the caller", async () => {
    const reason = new Error("enough");
    const post = modelFetch({ fetch: () => Promise.reject(reason), hideKeys });
    await expect(post("http://127.0.0.1", { signal: AbortSignal.abort() })).rejects.toBe(reason);
    await expect(post("http://127.0.0.1")).rejects.toMatchObject({ fault: { kind: "exception", error: reason } });
  });

  it.each([
    ["https://other.example/a?key=1#x", "https://other.example/a"],
    ["/v2", "https://model.example/v2"],
    ["data:text/plain,x", "an address that begins with data:"],
    ["http://[", "no valid address"],
  ])("a redirect to %s is told as %s", async (location, target) => {
    const post = modelFetch({
      fetch: async () => new Response(null, { status: 307, headers: { location } }),
      hideKeys,
    });
    await expect(post("https://model.example/v1")).rejects.toMatchObject({ fault: { kind: "redirect", target } });
  });

  it.each(protocols)("%s: an answer without a body is malformed", async (protocol) => {
    const fetch = async () => new Response(null, { status: 204 });
    const { outcome } = await generate(await contextFor(protocol, "http://localhost", { fetch }));
    expect(outcome.status).toBe("malformed");
  });

  it.each(protocols)("%s: bytes in any pieces say the same", async (protocol) => {
    const body = Buffer.from(answerBody(protocol, [{ text: "路线" }]));
    for (const size of [1, 7, 100]) {
      const pieces = Array.from({ length: Math.ceil(body.length / size) }, (_, index) =>
        body.subarray(index * size, (index + 1) * size),
      );
      const fetch = async () => new Response(ReadableStream.from<Uint8Array>(pieces));
      const { outcome } = await generate(await contextFor(protocol, "http://localhost", { fetch }));
      expect(outcome.status).toBe("completed");
    }
  });
});
