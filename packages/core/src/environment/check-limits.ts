/** @throws TypeError for a limit of calls that is no number above 0; no limit at all is `Infinity`. */
export function checkLimits(
  owner: string,
  limits: { timeoutMs?: number | undefined; maxOutputLength?: number | undefined },
): void {
  checkAtLeast(owner, "timeoutMs", limits.timeoutMs, Number.MIN_VALUE);
  checkAtLeast(owner, "maxOutputLength", limits.maxOutputLength, 1);
}

function checkAtLeast(owner: string, field: string, value: number | undefined, least: number): void {
  if (value === undefined || value >= least) return;
  throw new TypeError(`${owner}: \`${field}\` must be ${least === 1 ? "1 or more" : "more than 0"}, not ${value}.`);
}
