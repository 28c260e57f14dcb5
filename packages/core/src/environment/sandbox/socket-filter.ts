/**
 * What the kernel refuses to a command without network: sockets that a network namespace does not hold back. A socket
 * of the host that lies in a visible directory can be connected to even where nothing can be written.
 */
import type { Architecture } from "./architectures.ts";

/** Offsets in what the kernel shows to a filter; of an argument its lower half, which is all that it looks at itself. */
const offset = { call: 0, architecture: 4, firstArgument: 16, secondArgument: 24 };

const op = { load: 0x20, and: 0x54, equal: 0x15, atLeast: 0x35, end: 0x06 };
const allow = 0x7fff0000;
const notPermitted = 0x00050001;
const notImplemented = 0x00050026;

/** IPv4 and IPv6, which are the namespace's own, and what programs ask for its interfaces. */
const allowedFamilies = [2, 10, 16];
/** Pairs of these are connected for good; others could be sent anywhere. */
const allowedPairs = [1, 5];
const typeBits = 0xf;

interface Instruction {
  code: number;
  /** How many instructions are skipped when it holds, and when it does not. */
  whenTrue: number;
  whenFalse: number;
  value: number;
}

const step = (code: number, value: number): Instruction => ({ code, whenTrue: 0, whenFalse: 0, value });
const jump = (code: number, value: number, whenTrue: number, whenFalse: number): Instruction => ({
  code,
  whenTrue,
  whenFalse,
  value,
});

/** A program for the kernel, as bubblewrap takes it. */
export function socketFilter(architecture: Architecture): Buffer {
  const { calls } = architecture;
  const onSocket = [step(op.load, offset.firstArgument), ...onlyOneOf(allowedFamilies)];
  const onPair = [step(op.load, offset.secondArgument), step(op.and, typeBits), ...onlyOneOf(allowedPairs)];
  return bytesOf([
    step(op.load, offset.architecture),
    // Calls of another architecture have other numbers.
    jump(op.equal, architecture.auditId, 1, 0),
    step(op.end, notImplemented),
    step(op.load, offset.call),
    ...(architecture.foreignCallsFrom === undefined
      ? []
      : [jump(op.atLeast, architecture.foreignCallsFrom, 0, 1), step(op.end, notImplemented)]),
    ...calls.withheld.flatMap((call) => [jump(op.equal, call, 0, 1), step(op.end, notImplemented)]),
    jump(op.equal, calls.socket, 0, onSocket.length),
    ...onSocket,
    jump(op.equal, calls.socketPair, 0, onPair.length),
    ...onPair,
    step(op.end, allow),
  ]);
}

function onlyOneOf(values: readonly number[]): Instruction[] {
  const tests = values.flatMap((value) => [jump(op.equal, value, 0, 1), step(op.end, allow)]);
  return [...tests, step(op.end, notPermitted)];
}

function bytesOf(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, { code, whenTrue, whenFalse, value }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(whenTrue, index * 8 + 2);
    bytes.writeUInt8(whenFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}
