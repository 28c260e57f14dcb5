// Says "reached" when something answers: client.mjs tcp <host> <port> | udp <port> | dns <port> | unix <path> (@ for no file)
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { connect } from "node:net";

const [kind, first, second] = process.argv.slice(2);

function talk(where) {
  return new Promise((resolve, reject) => connect(where).once("data", resolve).once("error", reject));
}

const reach = {
  tcp: () => talk({ host: first, port: Number(second) }),
  unix: () => talk({ path: first.replace(/^@/, "\0") }),
  dns: () => {
    const resolver = new Resolver({ timeout: 500, tries: 1 });
    resolver.setServers([`127.0.0.1:${first}`]);
    return resolver.resolve4("name.example");
  },
  udp: () =>
    new Promise((resolve, reject) => {
      const socket = createSocket("udp4").once("message", resolve).once("error", reject);
      socket.connect(Number(first), "127.0.0.1", () => socket.send("hello"));
    }),
};

reach[kind]().then(
  () => {
    console.log("reached");
    process.exit(0);
  },
  (error) => {
    console.log(String(error));
    process.exit(1);
  },
);
