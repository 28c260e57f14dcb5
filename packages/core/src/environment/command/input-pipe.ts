/**
 * Where a command's input comes from. What Node gives a child is a socket, which it cannot open by name: `cat /dev/stdin`
 * fails. On Linux a command gets a real pipe, and one without a name: of one that has a name, as the output has, whoever
 * opens it after the end was typed would wait for another writer for ever.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";

export interface InputPipe {
  /** Descriptors; each is closed by whoever has it. */
  reader: number;
  writer: number;
}

/** Only what a shell has built in: it says who holds the pipe, and holds it until nobody wants it any more. */
const holder = `: | { read -r pid rest </proc/self/stat && echo "$pid" && read -r rest <&3; } 4<&0`;
const maxAnswerLength = 20;

/** `undefined` where there is none: then Node's own does for most. */
export async function openInputPipe(): Promise<InputPipe | undefined> {
  if (process.platform !== "linux") return undefined;
  // No shell, no descriptor left, or nobody may look at what it holds.
  return openThroughShell().catch(() => undefined);
}

async function openThroughShell(): Promise<InputPipe> {
  // Neither our variables nor our directory say what it loads.
  const shell = spawn("/bin/sh", ["-c", holder], { cwd: "/", env: {}, stdio: ["ignore", "pipe", "ignore", "pipe"] });
  const closed = once(shell, "close");
  closed.catch(() => undefined);
  try {
    return openBothEnds(await holderOf(shell));
  } finally {
    for (const stream of shell.stdio) stream?.destroy();
    await closed.catch(() => undefined);
  }
}

/** To be destroyed. */
export function writeInputPipe({ writer }: InputPipe): Socket {
  return new Socket({ fd: writer, readable: false, writable: true });
}

async function holderOf({ stdout }: ChildProcess): Promise<number> {
  let answer = "";
  for await (const text of stdout?.setEncoding("utf8") ?? []) {
    answer += String(text);
    if (answer.endsWith("\n") || answer.length > maxAnswerLength) break;
  }
  if (!/^[1-9]\d*\n$/.test(answer)) throw new Error("Nobody holds a pipe.");
  return Number(answer);
}

/** Each end is opened for itself: that we do not wait in ours must not make the command's reads fail. */
function openBothEnds(holderPid: number): InputPipe {
  const path = `/proc/${holderPid}/fd/4`;
  const reader = openSync(path, constants.O_RDONLY);
  try {
    if (!fstatSync(reader).isFIFO()) throw new Error(`${path} is no pipe.`);
    return { reader, writer: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK) };
  } catch (error) {
    closeSync(reader);
    throw error;
  }
}
