/** A model provider on loopback that plays raw bytes, well or badly, and remembers what it was asked. */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export interface WireExchange {
  /** Default 200. */
  status?: number | undefined;
  /** Default content type: `text/event-stream`. */
  headers?: Record<string, string> | undefined;
  /** Default: nothing. */
  body?: Buffer | string | { file: string } | undefined;
  /** Byte offsets at which a new write begins. Default: one write. */
  splitAt?: readonly number[] | "every-byte" | undefined;
  /** Asked before each write; a promise holds it back. */
  beforeWrite?: ((writeIndex: number) => Promise<void> | void) | undefined;
  /**
   * After the body: `close` ends the answer well (default), `hold` keeps it open and silent, `destroy` resets the
   * connection. `refuse` resets it before the head.
   */
  end?: "close" | "hold" | "destroy" | "refuse" | undefined;
}

export interface WireRequest {
  method: string;
  path: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** Parsed when it is JSON, the text otherwise. */
  body: unknown;
  /** Number of the connection that it came on, from 1. */
  connection: number;
}

export type WireHandler = (request: WireRequest, index: number) => WireExchange | Promise<WireExchange>;

export interface WireServerOptions {
  /** One for each request, in order; a request too many is answered with 500. */
  exchanges?: readonly WireExchange[] | undefined;
  /** Instead of `exchanges`. */
  handler?: WireHandler | undefined;
}

export interface WireServer {
  /** `http://127.0.0.1:<port>`, without a trailing slash. */
  readonly url: string;
  /** In order of arrival. */
  readonly requests: readonly WireRequest[];
  /** How many connections are open. */
  connections(): number;
  /** Ends every connection, whatever it is at. */
  close(): Promise<void>;
}

export async function startWireServer(options: WireServerOptions): Promise<WireServer> {
  const requests: WireRequest[] = [];
  const sockets = new Set<Socket>();
  const numbers = new WeakMap<Socket, number>();
  let connections = 0;
  const handler = options.handler ?? playInOrder(options.exchanges ?? []);
  const server = createServer((incoming, response) => {
    const connection = numbers.get(incoming.socket) ?? 0;
    answer({ incoming, response, connection }, requests, handler).catch(() => response.destroy());
  });
  server.on("connection", (socket) => {
    socket.setNoDelay(true);
    sockets.add(socket);
    connections += 1;
    numbers.set(socket, connections);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    connections: () => sockets.size,
    close: () => closeServer(server),
  };
}

function playInOrder(exchanges: readonly WireExchange[]): WireHandler {
  return (_request, index) =>
    exchanges[index] ?? {
      status: 500,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ error: { message: `the test server has no answer for request ${index + 1}` } }),
    };
}

interface Exchanged {
  incoming: IncomingMessage;
  response: ServerResponse;
  connection: number;
}

async function answer(
  { incoming, response, connection }: Exchanged,
  requests: WireRequest[],
  handler: WireHandler,
): Promise<void> {
  const request = await readRequest(incoming, connection);
  requests.push(request);
  const exchange = await handler(request, requests.length - 1);
  if (exchange.end === "refuse") return void incoming.socket.resetAndDestroy();
  response.on("error", () => undefined);
  response.writeHead(exchange.status ?? 200, { "content-type": "text/event-stream", ...exchange.headers });
  response.flushHeaders();
  const pieces = split(await bodyOf(exchange.body), exchange.splitAt ?? []);
  for (const [index, piece] of pieces.entries()) {
    await exchange.beforeWrite?.(index);
    if (response.destroyed) return;
    await new Promise((resolve) => response.write(piece, resolve));
    // Lets the reader take this piece before the next one can join it.
    if (pieces.length > 1) await new Promise((resolve) => setImmediate(resolve));
  }
  if (exchange.end === "destroy") incoming.socket.resetAndDestroy();
  else if (exchange.end !== "hold") response.end();
}

async function readRequest(incoming: IncomingMessage, connection: number): Promise<WireRequest> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString("utf8");
  const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]);
  return {
    method: incoming.method ?? "",
    path: incoming.url ?? "",
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: parseBody(text),
    connection,
  };
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function bodyOf(body: WireExchange["body"]): Promise<Buffer> {
  if (body === undefined) return Buffer.alloc(0);
  if (typeof body === "string") return Buffer.from(body);
  return Buffer.isBuffer(body) ? body : readFile(body.file);
}

function split(body: Buffer, splitAt: readonly number[] | "every-byte"): Buffer[] {
  const inner = splitAt === "every-byte" ? Array.from(body.keys()) : splitAt;
  const offsets = [...new Set([0, ...inner, body.length])].filter((offset) => offset >= 0 && offset <= body.length);
  offsets.sort((a, b) => a - b);
  return offsets.slice(1).map((end, index) => body.subarray(offsets[index], end));
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close((error) => (error === undefined ? resolve() : reject(error)));
    server.closeAllConnections();
  });
}
