/** Medians, and the table that they are shown in. */

export interface Figure {
  workload: string;
  /** What it is measured against, from the same run. */
  floor: string;
  measured: string;
  /** In words, such as `≤ 2 × bare`. */
  target: string;
  isMet: boolean;
}

/**
 * Takes turns, so that a slow moment of the machine meets both.
 *
 * @param warmUps Rounds before the first that counts; a workload that is short needs more of them to be compiled.
 */
export async function medianPair(
  times: number,
  floor: () => number | Promise<number>,
  workload: () => number | Promise<number>,
  warmUps = 1,
): Promise<{ floor: number; workload: number }> {
  for (let round = 0; round < warmUps; round += 1) {
    await floor();
    await workload();
  }
  const floors: number[] = [];
  const workloads: number[] = [];
  for (let time = 0; time < times; time += 1) {
    floors.push(await floor());
    workloads.push(await workload());
  }
  return { floor: median(floors), workload: median(workloads) };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export function times(ratio: number): string {
  return `${ratio.toFixed(2)} ×`;
}

export function microseconds(us: number): string {
  return `${us.toFixed(us < 1 ? 3 : 2)} µs`;
}

export function milliseconds(ms: number): string {
  return `${ms.toFixed(ms < 1 ? 4 : 1)} ms`;
}
