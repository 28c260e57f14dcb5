import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { startWireServer, type WireServer } from "@coxswain/testing";
import { afterEach, describe, expect, it } from "vitest";
import { fetchFor } from "../../src/llm/http/proxy-fetch.ts";
import { ModelSupportError } from "../../src/llm/model-support-error.ts";
import { generate, texts } from "./support/generate.ts";
import { answerBody, contextFor, protocols } from "./support/streams.ts";

let server: WireServer | undefined;
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) close();
  await server?.close();
  server = undefined;
});

/** A proxy that tunnels to the one server there is, and counts; or answers every request for a tunnel with a status. */
async function startProxy(refusal?: string): Promise<{ url: string; tunnels: string[] }> {
  const tunnels: string[] = [];
  const proxy = createServer();
  proxy.on("connect", (request, socket, head) => {
    tunnels.push(request.url ?? "");
    socket.on("error", () => undefined);
    closers.push(() => socket.destroy());
    if (refusal !== undefined) return void socket.end(`HTTP/1.1 ${refusal}\r\ncontent-length: 0\r\n\r\n`);
    const target = connect(Number(new URL(server?.url ?? "").port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      target.write(head);
      target.pipe(socket).pipe(target);
    });
    target.on("error", () => undefined);
    closers.push(() => target.destroy());
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  closers.push(() => proxy.close());
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, tunnels };
}

describe("fetchFor", () => {
  it("is the global one without a proxy, for all the patience that it has", async () => {
    expect(await fetchFor({ HTTPS_PROXY: "", NO_PROXY: "x" })).toBe(globalThis.fetch);
    expect(await fetchFor({}, { silenceMs: 300_000 })).toBe(globalThis.fetch);
  });

  it.each([
    [{ HTTPS_PROXY: "my proxy:3128" }, 'HTTPS_PROXY is "my proxy:3128"'],
    [{ http_proxy: "proxy:3128", HTTP_PROXY: "http://127.0.0.1:9" }, 'http_proxy is "proxy:3128"'],
    [{ HTTPS_PROXY: "http://127.0.0.1:9", HTTP_PROXY: "ftp://proxy.example" }, 'HTTP_PROXY is "ftp://proxy.example"'],
    [{ HTTPS_PROXY: "http://somebody:pass word@127.0.0.1:port" }, "HTTPS_PROXY is no address"],
    [{ HTTPS_PROXY: "x".repeat(100_000) }, `HTTPS_PROXY is "${"x".repeat(20)}`],
  ])("refuses an address that is none, by the name of its variable: %.60j", async (env, says) => {
    const refused = await fetchFor(env).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ModelSupportError);
    const words = String(refused);
    expect(words).toContain(`the environment variable ${says}`);
    expect(words).toContain("such as http://127.0.0.1:3128");
    expect(words).not.toContain("pass word");
    expect(words.length).toBeLessThan(300);
  });
});

describe.each(protocols)("%s", (protocol) => {
  const environments: [string, (proxy: string) => Record<string, string>, number][] = [
    ["HTTP_PROXY", (proxy) => ({ HTTP_PROXY: proxy }), 1],
    ["http_proxy", (proxy) => ({ http_proxy: proxy, HTTP_PROXY: "http://127.0.0.1:9" }), 1],
    ["only HTTPS_PROXY", (proxy) => ({ HTTPS_PROXY: proxy }), 0],
    ["a host that NO_PROXY names", (proxy) => ({ HTTP_PROXY: proxy, NO_PROXY: "model.example,127.0.0.1" }), 0],
    ["NO_PROXY for all", (proxy) => ({ HTTP_PROXY: proxy, no_proxy: "*" }), 0],
    ["NO_PROXY for others", (proxy) => ({ HTTP_PROXY: proxy, NO_PROXY: "other.example" }), 1],
  ];

  it.each(environments)("with %s goes the way that it says", async (_name, environmentOf, count) => {
    server = await startWireServer({ handler: () => ({ body: answerBody(protocol, [{ text: "hi" }]) }) });
    const { url, tunnels } = await startProxy();
    // A name that only the proxy can find shows that nobody else looked for it.
    const baseUrl = count === 0 ? server.url : "http://model.example";
    const llm = await contextFor(protocol, baseUrl, { env: environmentOf(url) });
    const { messages, outcome } = await generate(llm);
    expect([outcome.errorMessage, texts(messages)]).toEqual([undefined, ["hi"]]);
    expect(tunnels).toHaveLength(count);
  });

  it.each([
    ["503 Busy", "timeout"],
    ["407 Proxy Authentication Required", "failed"],
  ])("a proxy that answers %s is %s", async (refusal, status) => {
    const { url } = await startProxy(refusal);
    const llm = await contextFor(protocol, "http://model.example", { env: { HTTP_PROXY: url } });
    const { outcome } = await generate(llm);
    expect(outcome).toMatchObject({ status, errorMessage: expect.stringContaining(refusal.slice(0, 3)) as unknown });
  });

  it("a proxy that is not there is timeout, and its password stays hidden", async () => {
    const env = { HTTP_PROXY: "http://somebody:pass-word-1@127.0.0.1:9" };
    const { outcome } = await generate(await contextFor(protocol, "http://model.example", { env }));
    expect(outcome).toMatchObject({ status: "timeout" });
    expect(outcome.errorMessage).toContain("ECONNREFUSED");
    expect(outcome.errorMessage).not.toContain("pass-word-1");
  });
});
