/** How answers end without the provider telling an error: the same class for each protocol. */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { userText } from "@coxswain/core";
import { startWireServer, type WireExchange, type WireServer } from "@coxswain/testing";
import { afterEach, describe, expect, it } from "vitest";
import { calls, complete, generate, texts, undisciplined } from "./support/generate.ts";
import { answer, answerBody, type Block, contextFor, event, protocols, testKey } from "./support/streams.ts";

let server: WireServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

const call = { id: "call_a", name: "read_file", arguments: '{"file_path":"a.txt"}' };
const malformed = { status: "malformed" };

describe.each(protocols)("%s", (protocol) => {
  const ask = async (exchange: WireExchange) => {
    server = await startWireServer({ exchanges: [exchange] });
    const generated = await generate(await contextFor(protocol, server.url));
    await server.close();
    server = undefined;
    expect(undisciplined(generated.messages)).toEqual([]);
    const types = generated.messages.map((message) => message.payload.type);
    return { ...generated, types };
  };
  const spoken = (blocks: readonly Block[] = [{ text: "half a" }]) => answer(protocol, blocks).join("");

  describe("a good end", () => {
    it("is completed, and what it cost is told", async () => {
      const { messages, outcome } = await ask({ body: answerBody(protocol, [{ text: "hi" }]) });
      expect(outcome).toMatchObject({ status: "completed", finishReason: "stop" });
      expect(texts(messages)).toEqual(["hi"]);
      expect(messages.at(-1)?.payload).toMatchObject({ type: "token_usage", request: { input: 20, output: 5 } });
    });

    it("needs no blank line after its last event", async () => {
      for (const cut of [1, 2]) {
        const body = answerBody(protocol, [{ text: "hi" }]).slice(0, -cut);
        expect((await ask({ body })).outcome).toMatchObject({ status: "completed", finishReason: "stop" });
      }
    });

    it("is the same however its bytes come, and whatever type it has", async () => {
      const body = answerBody(protocol, [{ thinking: "hm 🐧" }, { text: "路线 é" }, { call }], { reason: "calls" });
      for (const [sent, splitAt] of [
        [body, "every-byte"],
        [`\ufeff: hello\n\nretry: 10\n\n${body.replaceAll("\n", "\r\n")}`, []],
        [`data:\n\n${body.replaceAll("\n\n", "\n\n: ping\n\n")}`, []],
      ] as const) {
        const headers = { "content-type": "application/json" };
        const { messages, outcome } = await ask({ body: sent, splitAt, headers });
        expect(outcome).toMatchObject({ status: "completed", finishReason: "tool_calls" });
        expect([texts(messages), calls(messages)]).toEqual([["路线 é"], [call]]);
      }
    });

    it("with neither text nor call is malformed, and says how it ended", async () => {
      const { outcome } = await ask({ body: answerBody(protocol, [{ thinking: "hm" }]) });
      expect(outcome).toMatchObject({ status: "malformed", finishReason: "stop" });
    });

    it.each([
      ["without text", []],
      ["with text", [{ text: "half a" }]],
    ])("of a content filter %s is completed, with a notice", async (_name, blocks) => {
      const { outcome, types, messages } = await ask({ body: answerBody(protocol, blocks, { reason: "filter" }) });
      expect(outcome).toMatchObject({ status: "completed", finishReason: "content_filter" });
      expect(outcome.finishReasonRaw).toMatch(/content_filter|refusal|SAFETY/);
      expect(types.slice(-2)).toEqual(["notice", "token_usage"]);
      expect(texts(messages)).toEqual(blocks.map((block) => block.text));
    });

    it("of text at the output limit is completed, and says so", async () => {
      const { outcome } = await ask({ body: answerBody(protocol, [{ text: "half a" }], { reason: "length" }) });
      expect(outcome).toMatchObject({ status: "completed", finishReason: "length" });
    });

    it("at the output limit inside a call is malformed, and the call is not complete", async () => {
      const cutCall = { ...call, arguments: '{"file_path":"a.t' };
      const body = answerBody(protocol, [{ text: "now" }, { cutCall }], { reason: "length" });
      const { outcome, messages } = await ask({ body });
      expect(outcome).toMatchObject({ ...malformed, errorMessage: expect.stringContaining("read_file") as unknown });
      expect(complete(messages).at(-1)).toMatchObject({ type: "tool_call", stop_reason: "malformed" });
    });
  });

  describe("no good end", () => {
    it("the end marker is missing", async () => {
      for (const blocks of [[], [{ text: "half a" }], [{ text: "half a" }, { cutCall: call }]]) {
        const { outcome, messages } = await ask({ body: spoken(blocks) });
        expect(outcome).toMatchObject(malformed);
        expect(outcome).not.toHaveProperty("finishReason");
        expect(texts(messages)).toEqual(blocks.length === 0 ? [] : ["half a"]);
      }
    });

    it("the body ends inside an event, wherever", async () => {
      const body = answerBody(protocol, [{ text: "hi" }]);
      const lastEvent = answer(protocol, [{ text: "hi" }], { reason: "stop" }).at(protocol === "openai-chat" ? -3 : -1);
      const end = body.indexOf(lastEvent ?? "") + (lastEvent?.length ?? 0) - "\n\n".length;
      for (let length = Math.floor(end / 2); length < end; length += 41) {
        expect((await ask({ body: body.slice(0, length) })).outcome).toMatchObject(malformed);
      }
    });

    it("an event cannot be read, although a good end follows", async () => {
      const events = answer(protocol, [{ text: "hi" }], { reason: "stop" });
      const { outcome } = await ask({ body: events.toSpliced(-1, 0, `data: {"oops ${testKey}\n\n`).join("") });
      expect(outcome).toMatchObject({ ...malformed, errorMessage: expect.stringContaining("{") as unknown });
      expect(outcome.errorMessage).not.toContain(testKey);
    });

    it.each([
      ["before the head", { end: "refuse" }],
      ["after the head", { end: "destroy" }],
      ["midway", { body: spoken(), end: "destroy" }],
    ] as const)("the connection is reset %s", async (_name, exchange) => {
      const { outcome, messages } = await ask(exchange);
      expect(outcome).toMatchObject({ status: "timeout" });
      expect(outcome.errorMessage).toMatch(/ECONNRESET|UND_ERR_SOCKET|terminated/i);
      expect(texts(messages)).toEqual("body" in exchange ? ["half a"] : []);
    });

    it("all that came in one read before a reset is kept", async () => {
      const { messages } = await ask({
        body: spoken([{ thinking: "hm" }, { text: "half a" }, { call }]),
        end: "destroy",
      });
      expect(complete(messages).map((payload) => payload.type)).toEqual(["thinking", "text", "tool_call"]);
    });

    it("nobody listens, or there is no such name", async () => {
      const unused = createServer().listen(0, "127.0.0.1");
      await once(unused, "listening");
      const { port } = unused.address() as AddressInfo;
      unused.close();
      await once(unused, "close");
      const refused = await generate(await contextFor(protocol, `http://127.0.0.1:${port}`));
      expect(refused.outcome).toMatchObject({ status: "timeout" });
      expect(refused.outcome.errorMessage).toContain("ECONNREFUSED");
      const unknown = await generate(await contextFor(protocol, "http://model.invalid"));
      expect(unknown.outcome).toMatchObject({ status: "timeout" });
      expect(unknown.outcome.errorMessage).toContain("model.invalid");
    });

    it("nobody vouches for the certificate", async () => {
      const file = (name: string) => readFile(new URL(`tls/${name}`, import.meta.url));
      const secure = createHttpsServer({ key: await file("server-key.pem"), cert: await file("server.pem") });
      secure.listen(0, "127.0.0.1");
      await once(secure, "listening");
      const { port } = secure.address() as AddressInfo;
      const { outcome } = await generate(await contextFor(protocol, `https://127.0.0.1:${port}`));
      secure.close();
      expect(outcome).toMatchObject({ status: "failed" });
      expect(outcome.errorMessage).toContain("NODE_EXTRA_CA_CERTS");
    });

    it("a redirect is not followed, so that no key goes to another server", async () => {
      const other = await startWireServer({ handler: () => ({ body: answerBody(protocol, [{ text: "caught" }]) }) });
      const headers = { location: `${other.url}/elsewhere?token=abc` };
      for (const status of [301, 302, 303, 307, 308]) {
        const { outcome } = await ask({ status, headers });
        expect(outcome).toMatchObject({ status: "failed" });
        expect(outcome.errorMessage).toContain(`redirect to ${other.url}/elsewhere;`);
      }
      expect(other.requests).toEqual([]);
      await other.close();
    });
  });

  describe("our signal", () => {
    it.each([
      ["while no content comes", undefined],
      ["while the answer streams", spoken()],
    ])("%s is aborted, and the connection ends", async (_name, body) => {
      const held = createHttpServer().listen(0, "127.0.0.1");
      await once(held, "listening");
      const { port } = held.address() as AddressInfo;
      const controller = new AbortController();
      const llm = await contextFor(protocol, `http://127.0.0.1:${port}`);
      const stream = llm.streamGenerate({ newMessages: [userText("hi")], signal: controller.signal });
      const first = stream.next();
      const [request, response] = (await once(held, "request")) as [IncomingMessage, ServerResponse];
      const isGone = once(request.socket, "close");
      response.writeHead(200, { "content-type": "text/event-stream" }).write(body ?? ": hello\n\n");
      if (body !== undefined) await first;
      controller.abort();
      let result = body === undefined ? await first : await stream.next();
      while (result.done !== true) result = await stream.next();
      expect(result.value).toMatchObject({ status: "aborted" });
      await isGone;
      held.close();
      held.closeAllConnections();
    });
  });

  it("connections are used again after a good end, also when the body ends a little later", async () => {
    const sockets = new Set<unknown>();
    const open: ServerResponse[] = [];
    const slow = createHttpServer((request, response) => {
      sockets.add(request.socket);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(answerBody(protocol, [{ text: "hi" }]));
      if (protocol === "gemini") response.end();
      open.push(response);
    }).listen(0, "127.0.0.1");
    await once(slow, "listening");
    const llm = await contextFor(protocol, `http://127.0.0.1:${(slow.address() as AddressInfo).port}`);
    for (let index = 0; index < 8; index += 1) {
      expect((await generate(llm)).outcome.status).toBe("completed");
      open[index]?.end();
      for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
    slow.close();
    slow.closeAllConnections();
    expect(sockets.size).toBeLessThan(4);
  });

  it("a key in the words of any event that a package complains about stays hidden", async () => {
    const odd = event({ type: "content_block_start", candidates: testKey, item: testKey, choices: testKey });
    const { outcome } = await ask({ body: spoken() + odd });
    expect(outcome).toMatchObject(malformed);
    expect(JSON.stringify(outcome)).not.toContain(testKey);
  });
});

describe("a good end that an event tells", () => {
  it.each(["openai-chat", "openai-responses", "anthropic"] as const)(
    "is taken at once although the connection stays open: %s",
    async (protocol) => {
      server = await startWireServer({ exchanges: [{ body: answerBody(protocol, [{ text: "hi" }]), end: "hold" }] });
      const { outcome } = await generate(await contextFor(protocol, server.url));
      expect(outcome).toMatchObject({ status: "completed", finishReason: "stop" });
    },
  );
});

describe("gemini's words for an end", () => {
  const end = (fields: Record<string, unknown>) =>
    event({ usageMetadata: { promptTokenCount: 20, totalTokenCount: 20 }, ...fields });
  const stopped = (finishReason: string) =>
    end({ candidates: [{ content: { parts: [{ text: "half a" }], role: "model" }, finishReason, index: 0 }] });

  it.each([
    ...["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "IMAGE_SAFETY", "MODEL_ARMOR"].map(
      (word): [string, string, object] => [
        word,
        stopped(word),
        { status: "completed", finishReason: "content_filter" },
      ],
    ),
    ...["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER", "TOO_MANY_TOOL_CALLS", "FINISH_REASON_NEW"].map(
      (word): [string, string, object] => [word, stopped(word), malformed],
    ),
    ["MAX_TOKENS", stopped("MAX_TOKENS"), { status: "completed", finishReason: "length" }],
    [
      "PROHIBITED_CONTENT",
      end({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }),
      { status: "completed", finishReason: "content_filter", finishReasonRaw: "PROHIBITED_CONTENT" },
    ],
  ])("%s", async (word, body, expected) => {
    server = await startWireServer({ exchanges: [{ body }] });
    const { outcome } = await generate(await contextFor("gemini", server.url));
    expect(outcome).toMatchObject(expected);
    expect(`${outcome.finishReasonRaw} ${outcome.errorMessage}`).toContain(word);
  });
});
