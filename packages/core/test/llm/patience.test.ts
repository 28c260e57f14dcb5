/** In a file of its own: the library keeps its clock for the whole process. */
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { startWireServer } from "@coxswain/testing";
import { Agent, fetch as plainFetch } from "undici";
import { expect, it, vi } from "vitest";
import { fetchFor } from "../../src/llm/http/proxy-fetch.ts";

it("fetchFor waits out a silence that ends other fetches, with a proxy and without", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  const answers: (() => void)[] = [];
  const server = await startWireServer({
    handler: () => new Promise((resolve) => answers.push(() => resolve({ body: "late" }))),
  });
  const proxy = createServer().listen(0, "127.0.0.1");
  await once(proxy, "listening");
  proxy.on("connect", (_request, socket) => {
    const target = connect(Number(new URL(server.url).port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      target.pipe(socket).pipe(target);
    });
    for (const each of [socket, target]) each.on("error", () => undefined);
  });
  const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const patient = await Promise.all(
    [{}, { HTTP_PROXY: proxyUrl }].map((environment) => fetchFor(environment, { silenceMs: 600_000 })),
  );
  const responses = patient.map((fetch) => fetch(server.url));
  const impatient = plainFetch(server.url, { dispatcher: new Agent() }).then(
    () => "answered",
    (error: Error) => (error.cause as { code: string }).code,
  );
  while (answers.length < 3) await new Promise((resolve) => setImmediate(resolve));
  vi.advanceTimersByTime(599_000);
  expect(await impatient).toBe("UND_ERR_HEADERS_TIMEOUT");
  for (const reply of answers) reply();
  for (const response of responses) expect(await (await response).text()).toBe("late");
  vi.useRealTimers();
  await server.close();
  proxy.close();
  proxy.closeAllConnections();
});
