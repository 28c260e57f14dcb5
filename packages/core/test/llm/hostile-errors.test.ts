/** Errors that are made to hurt: they must cost little, whatever is in them. */
import { createServer, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, it, type TestContext } from "vitest";
import { classify } from "../../src/llm/fault/outcome.ts";
import { ProviderFault } from "../../src/llm/fault/provider-fault.ts";
import { generate } from "./support/generate.ts";
import { contextFor, protocols } from "./support/streams.ts";

async function serve(test: TestContext, answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_request, response) => answer(response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  test.onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

describe("the words of an error", () => {
  it.each([
    ["brackets", "<".repeat(2_000_000)],
    ["titles", "<title".repeat(300_000)],
    ["what begins as a key", "key-".repeat(500_000)],
    ["what begins as a token", "eyJaaaaaaaaaa-".repeat(200_000)],
    ["addresses", "://a".repeat(500_000)],
    ["blanks", `bearer${" ".repeat(2_000_000)}`],
  ])("are read a little way only: %s", (_what, words) => {
    for (const fault of [
      { kind: "error_object", error: { message: words } },
      { kind: "error_object", error: words },
      { kind: "http", status: 400, headers: {}, body: words.slice(0, 65_536) },
    ] as const) {
      const { errorMessage } = classify(new ProviderFault(fault), 0);
      expect(errorMessage?.length).toBeLessThan(1_000);
    }
  });
});

// At the same time: each waits for the end of a body that does not come.
describe.concurrent.each(protocols)("an error over %s", (protocol) => {
  it("keeps its status although its body does not end", async (test) => {
    const url = await serve(test, (response) => {
      response.writeHead(401, { "content-type": "application/json", "content-length": "5000" });
      response.write('{"error":{"message":"no such key"}}');
    });
    const { outcome } = await generate(await contextFor(protocol, url));
    test.expect(outcome).toMatchObject({ status: "auth", errorMessage: expect.stringContaining("no such key") });
  });

  it("is one also when its body claims to be packed many times", async (test) => {
    const packed = "gzip,gzip,gzip,gzip,gzip,gzip";
    const url = await serve(test, (response) => response.writeHead(200, { "content-encoding": packed }).end("x"));
    const { outcome } = await generate(await contextFor(protocol, url));
    test.expect(["timeout", "malformed", "failed"]).toContain(outcome.status);
  });
});
