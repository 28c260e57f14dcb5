/** A rule that every life must keep, as something that reads observations one after the other. */
import type { Observation } from "../observation.ts";

export interface Invariant {
  readonly name: string;
  /** Begins anew: one reading of one life. */
  watch: () => Watcher;
}

export interface Watcher {
  /** @returns What is wrong now, in words. */
  see(seen: Observation): string | undefined;
}
