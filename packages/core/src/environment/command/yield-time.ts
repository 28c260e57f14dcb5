/** How long a call waits for a command, in milliseconds: within the call's own time-out, whatever was asked for. */
export interface YieldTime {
  least: number;
  most: number;
}

export const execYieldTime: YieldTime & { usual: number } = { least: 250, most: 110_000, usual: 60_000 };
export const inputYieldTime: YieldTime & { usual: number; usualAfterTyping: number } = {
  least: 0,
  most: 120_000,
  usual: 5_000,
  usualAfterTyping: 1_000,
};

export function yieldTimeMs(asked: number, { least, most }: YieldTime): number {
  return Math.min(Math.max(asked, least), most);
}
