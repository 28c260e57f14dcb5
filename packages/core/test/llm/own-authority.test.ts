/** Servers with a certificate of one's own authority, as a process of its own meets them: the variable is read at start. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerBody, protocols, settingsFor, type WireProtocol } from "./support/streams.ts";

const built = new URL("../../dist/index.js", import.meta.url).href;
const authority = fileURLToPath(new URL("tls/authority.pem", import.meta.url));

const closers: (() => void)[] = [];
let port = 0;
let proxyUrl = "";
let tunnels = 0;

beforeAll(async () => {
  const file = (name: string) => readFile(new URL(`tls/${name}`, import.meta.url));
  const server = createServer({ key: await file("server-key.pem"), cert: await file("server.pem") });
  server.on("request", (request, response) => {
    const protocol = String(request.url).split("/")[1] as WireProtocol;
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(answerBody(protocol, [{ text: "trusted" }]));
  });
  server.on("tlsClientError", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ({ port } = server.address() as AddressInfo);
  const proxy = createHttpServer();
  proxy.on("connect", (_request, socket, head) => {
    tunnels += 1;
    const target = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      target.write(head);
      target.pipe(socket).pipe(target);
    });
    for (const each of [socket, target]) each.on("error", () => undefined);
    closers.push(() => (socket.destroy(), target.destroy()));
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  closers.push(
    () => (server.close(), server.closeAllConnections()),
    () => (proxy.close(), proxy.closeAllConnections()),
  );
});

afterAll(() => {
  for (const close of closers) close();
});

interface Told {
  status: string;
  errorMessage?: string;
  text: string;
}

/** Asks a model of each protocol, in a process with these variables. */
async function askAll(variables: Record<string, string>): Promise<Told[]> {
  const host = variables["HTTPS_PROXY"] === undefined ? `127.0.0.1:${port}` : "model.example";
  const settings = protocols.map((protocol) => settingsFor(protocol, `https://${host}/${protocol}`));
  const program = `
    const { createLanguageModel, GenerativeModel, systemClock, userText } = await import(${JSON.stringify(built)});
    const told = [];
    for (const settings of ${JSON.stringify(settings)}) {
      const model = await createLanguageModel(settings);
      const limits = { totalMs: 60_000, firstContentMs: 60_000, idleMs: 60_000 };
      const llm = new GenerativeModel({ model, systemPrompt: "", limits, clock: systemClock });
      const stream = llm.streamGenerate({ newMessages: [userText("hi")] });
      let text = "";
      for (;;) {
        const { done, value } = await stream.next();
        if (done) { told.push({ ...value, text }); break; }
        if (value.payload.type === "text") text += value.payload.text;
      }
    }
    process.stdout.write(JSON.stringify(told), () => process.exit());
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    env: { PATH: process.env["PATH"], ...variables },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const pieces: Buffer[] = [];
  child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
  await once(child, "close");
  return JSON.parse(Buffer.concat(pieces).toString()) as Told[];
}

describe.each([
  ["directly", () => ({})],
  ["through a proxy", () => ({ HTTPS_PROXY: proxyUrl })],
] as [string, () => Record<string, string>][])("%s", (_name, way) => {
  it("nobody vouches for the server, and the message says what to do", async () => {
    const told = await askAll(way());
    expect(told.map(({ status }) => status)).toEqual(protocols.map(() => "failed"));
    for (const { errorMessage } of told) expect(errorMessage).toContain("NODE_EXTRA_CA_CERTS");
  });

  it("NODE_EXTRA_CA_CERTS names the authority, and all is well", async () => {
    const before = tunnels;
    const told = await askAll({ ...way(), NODE_EXTRA_CA_CERTS: authority });
    expect(told.map(({ status, text }) => `${status} ${text}`)).toEqual(protocols.map(() => "completed trusted"));
    expect(tunnels > before).toBe("HTTPS_PROXY" in way());
  });
});
