/** Changes to the bytes and the events of an answer. */
import fc from "fast-check";

export type Change =
  | { kind: "flip"; at: number; mask: number }
  | { kind: "insert"; at: number; bytes: Uint8Array }
  | { kind: "delete"; at: number; count: number }
  | { kind: "double"; at: number }
  | { kind: "drop"; at: number }
  | { kind: "swap"; at: number; other: number };

/** Places are taken modulo what there is. */
const place = fc.nat(100_000);

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant("flip" as const), at: place, mask: fc.integer({ min: 1, max: 255 }) }),
  fc.record({ kind: fc.constant("insert" as const), at: place, bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }) }),
  fc.record({ kind: fc.constant("delete" as const), at: place, count: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ kind: fc.constant("double" as const), at: place }),
  fc.record({ kind: fc.constant("drop" as const), at: place }),
  fc.record({ kind: fc.constant("swap" as const), at: place, other: place }),
);

export const changes = fc.array(change, { minLength: 1, maxLength: 4 });

export function changedBody(body: Buffer, changed: readonly Change[]): Buffer {
  return changed.reduce(apply, body);
}

function apply(body: Buffer, change: Change): Buffer {
  switch (change.kind) {
    case "flip": {
      const copy = Buffer.from(body);
      const at = change.at % Math.max(1, body.length);
      copy[at] = (copy[at] ?? 0) ^ change.mask;
      return copy;
    }
    case "insert": {
      const at = change.at % (body.length + 1);
      return Buffer.concat([body.subarray(0, at), change.bytes, body.subarray(at)]);
    }
    case "delete": {
      const at = change.at % (body.length + 1);
      return Buffer.concat([body.subarray(0, at), body.subarray(at + change.count)]);
    }
    default:
      return changeEvents(body, change);
  }
}

function changeEvents(body: Buffer, change: Extract<Change, { kind: "double" | "drop" | "swap" }>): Buffer {
  const events = body.toString("latin1").split(/(?<=\r?\n\r?\n)/);
  const at = change.at % events.length;
  const event = events[at] ?? "";
  if (change.kind === "double") events.splice(at, 0, event);
  else if (change.kind === "drop") events.splice(at, 1);
  else {
    const other = change.other % events.length;
    events[at] = events[other] ?? "";
    events[other] = event;
  }
  return Buffer.from(events.join(""), "latin1");
}
