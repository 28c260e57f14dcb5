import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import type { LocalEnvironmentOptions } from "../../src/environment/local-environment.ts";
import { createWorld, type Ran, run, type World } from "./support.ts";

export interface FileWorld extends World {
  bytes: (name: string) => Promise<Buffer>;
  text: (name: string) => Promise<string>;
  /** A call of a tool. */
  call: (tool: string, args: object) => Promise<Ran>;
}

/** A Workspace with files; names are relative to it. */
export async function worldWith(
  files: Record<string, string | Buffer>,
  options?: Partial<LocalEnvironmentOptions> | ((root: string) => Partial<LocalEnvironmentOptions>),
): Promise<FileWorld> {
  const world = await createWorld(options);
  for (const [name, content] of Object.entries(files)) {
    const path = join(world.workspaceDir, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
  const bytes = (name: string): Promise<Buffer> => readFile(join(world.workspaceDir, name));
  const text = async (name: string): Promise<string> => (await bytes(name)).toString();
  return { ...world, bytes, text, call: (tool, args) => run(world.environment, tool, args) };
}

/** Of one colour. */
export function pngOf(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const rows = deflateSync(Buffer.alloc((width + 1) * height));
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  return Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", rows), chunk("IEND", Buffer.alloc(0))]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}
