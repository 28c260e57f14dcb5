/** What the host of a recorded process did, as it is read from its Trace. */
import type { BackgroundReport, OmniMessage, ToolDefinition } from "@coxswain/core";
import type { Line } from "./exchanges.ts";

export interface RecordedRun {
  kind: "task" | "compaction";
  start: number;
  /** Index of the first record after it. */
  end: number;
  input: OmniMessage[];
  /** What the Environment told while it connected. */
  connecting: Line[];
  tools: ToolDefinition[] | undefined;
  /** Why the tools could not be listed. */
  toolsProblem: string | undefined;
  /** Its process died before it could end. */
  isCut: boolean;
}

/** What an engine is told besides: steering, or the end of background work. */
export type Told = string | BackgroundReport;

export interface RecordedRuns {
  runs: RecordedRun[];
  /** By the index of the record in front of which the engine was told it. */
  told: Map<number, Told[]>;
  /** Indices of interrupts whose undelivered steering is among it: without it there would not have been more to do. */
  toldBefore: Set<number>;
  /**
   * Indices of what stands in a context that a compaction has just ended: it was said after the engine had looked whether
   * there is any reason to open another.
   */
  toldLate: Set<number>;
  obstacle: string | undefined;
  /** Where a process must have begun if there is to be no obstacle. */
  restart: number | undefined;
}
