import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { startWireServer, type WireServer } from "@coxswain/testing";
import { createChatCompletionsModel } from "../../src/llm/chat-completions/model.ts";
import { fetchFor } from "../../src/llm/http/proxy-fetch.ts";
import { chatContext, chatSettings, generate, texts, wire } from "./support/generate.ts";

let server: WireServer | undefined;
const closers: (() => void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) close();
  await server?.close();
  server = undefined;
});

/** A proxy that tunnels to the one server there is, and counts. */
async function startProxy(): Promise<{ url: string; tunnels: string[] }> {
  const tunnels: string[] = [];
  const proxy = createServer();
  proxy.on("connect", (request, socket, head) => {
    tunnels.push(request.url ?? "");
    const target = connect(Number(new URL(server?.url ?? "").port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      target.write(head);
      target.pipe(socket).pipe(target);
    });
    for (const each of [socket, target]) each.on("error", () => undefined);
    closers.push(() => (socket.destroy(), target.destroy()));
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  closers.push(() => proxy.close());
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, tunnels };
}

describe("fetchFor", () => {
  it("is the global one without a proxy", async () => {
    expect(await fetchFor({ HTTPS_PROXY: "", NO_PROXY: "x" })).toBe(globalThis.fetch);
  });

  it("goes through the proxy, except to hosts that NO_PROXY names", async () => {
    server = await startWireServer({ handler: async () => ({ body: await wire("good-answer") }) });
    const { url, tunnels } = await startProxy();
    for (const [noProxy, count] of [
      ["", 1],
      ["model.example,127.0.0.1", 1],
    ] as const) {
      const fetch = await fetchFor({ HTTP_PROXY: url, NO_PROXY: noProxy });
      const baseUrl = noProxy === "" ? "http://model.example" : server.url;
      const model = createChatCompletionsModel({ settings: chatSettings(baseUrl), fetch });
      const { messages } = await generate(chatContext("", { model }));
      expect(texts(messages)).toEqual(["All finished."]);
      expect(tunnels).toHaveLength(count);
    }
  });
});
