/** What the end of a Session does to commands that run in the background. */

export interface RunningCommand {
  id: string;
  /** What it is, in one line without secrets. */
  line: string;
}

const maxNamed = 3;

/**
 * Those that ran before and run no more; `undefined` when there are none. What could not be ended is not said to be.
 *
 * @param after What still runs.
 */
export function endedCommandsWords(
  before: readonly RunningCommand[],
  after: readonly RunningCommand[],
): string | undefined {
  const left = new Set(after.map(({ id }) => id));
  const ended = before.filter(({ id }) => !left.has(id));
  if (ended.length === 0) return undefined;
  const names = ended.slice(0, maxNamed).map(({ line }) => line);
  if (ended.length > maxNamed) names.push(`and ${ended.length - maxNamed} more`);
  return `ended ${ended.length} background command${ended.length === 1 ? "" : "s"}: ${names.join("; ")}`;
}
