import { createSocket, type Socket } from "node:dgram";
import { createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";

/** What answers on the host, as a program there would. */
export interface Listeners {
  tcpPort: number;
  udpPort: number;
  /** Of a name server that knows every name. */
  dnsPort: number;
  close(): Promise<void>;
}

/** @param sockets Paths of unix sockets; one that begins with NUL has no file. */
export async function listenOnHost(sockets: readonly string[]): Promise<Listeners> {
  const servers: Server[] = [];
  const listen = async (where: { port: number; host: string } | { path: string }): Promise<Server> => {
    const server = createServer((socket) => socket.on("error", () => undefined).end("hello\n"));
    servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(where, resolve);
    });
    return server;
  };
  const tcp = await listen({ port: 0, host: "::" });
  for (const path of sockets) await listen({ path });
  const udp = await bound((message, reply) => reply(message));
  const dns = await bound((question, reply) => reply(answerTo(question)));
  const address = tcp.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    tcpPort: address.port,
    udpPort: udp.address().port,
    dnsPort: dns.address().port,
    close: async () => {
      for (const socket of [udp, dns]) socket.close();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

async function bound(onMessage: (message: Buffer, reply: (answer: Buffer) => void) => void): Promise<Socket> {
  const socket = createSocket("udp4");
  socket.on("message", (message, from) => onMessage(message, (answer) => socket.send(answer, from.port, from.address)));
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return socket;
}

/** Every name is at 192.0.2.7. */
function answerTo(question: Buffer): Buffer {
  const head = Buffer.from(question.subarray(0, 12));
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(1, 6);
  head.fill(0, 8, 12);
  const end = question.indexOf(0, 12) + 5;
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7]);
  return Buffer.concat([head, question.subarray(12, end), record]);
}

/** An address of this machine that others could reach. */
export function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return addresses.find(({ internal, family }) => !internal && family === "IPv4")?.address ?? "127.1.2.3";
}
