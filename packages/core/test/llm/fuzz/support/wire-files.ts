/** Every recorded answer, with the protocol that its name tells. */
import { readdirSync, readFileSync } from "node:fs";
import { protocols, type WireProtocol } from "../../support/streams.ts";

export interface WireFile {
  name: string;
  protocol: WireProtocol;
  body: Buffer;
}

const directory = new URL("../../wire/", import.meta.url);

export const wireFiles: readonly WireFile[] = readdirSync(directory)
  .filter((name) => name.endsWith(".sse"))
  .sort()
  .map((name) => ({ name, protocol: protocolOf(name), body: readFileSync(new URL(name, directory)) }));

function protocolOf(name: string): WireProtocol {
  const suffix = name.split(".").at(-2);
  const protocol = protocols.find((each) => each === suffix);
  if (protocol === undefined)
    throw new Error(`${name} names no protocol before .sse; there are ${protocols.join(", ")}`);
  return protocol;
}
