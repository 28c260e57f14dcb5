/** Names of Sessions: `session-YYYY-MM-DD-HH-mm-ss-<8 hex>`, in UTC. */
import { randomBytes } from "node:crypto";
import { headOf } from "../shared/cut.ts";
import { TraceError } from "./trace-error.ts";

const ownId = /^session-(\d{4}-\d\d-\d\d)-(\d\d)-(\d\d)-(\d\d)-[0-9a-f]{8}$/;
/** Ids of other writers: whatever is safe as a part of a file name. */
const acceptedId = /^[A-Za-z0-9_-]{1,100}$/;

/** @param nowMs Milliseconds since the epoch. */
export function newSessionId(nowMs: number): string {
  const time = new Date(nowMs).toISOString().slice(0, 19).replace(/[T:]/g, "-");
  return `session-${time}-${randomBytes(4).toString("hex")}`;
}

/** @throws TraceError `invalid_id` when the id could name anything but a file of its own. */
export function assertSafeSessionId(id: string): void {
  if (acceptedId.test(id)) return;
  throw new TraceError(
    "invalid_id",
    `${JSON.stringify(headOf(id, 60))} is no session id; one looks like session-2026-01-31-12-00-00-0a1b2c3d`,
  );
}

/** `yyyy-mm-dd` of an id of ours; `undefined` when it says no day. */
export function dateOfSessionId(id: string): string | undefined {
  return ownId.exec(id)?.[1];
}

/** Milliseconds since the epoch at which the id was made, as far as it says. */
export function timeOfSessionId(id: string): number | undefined {
  const parts = ownId.exec(id);
  if (parts === null) return undefined;
  const ms = Date.parse(`${parts[1]}T${parts[2]}:${parts[3]}:${parts[4]}Z`);
  return Number.isNaN(ms) ? undefined : ms;
}
