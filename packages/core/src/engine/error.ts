/** A `run` or `compact` while another is in progress. Nothing has happened. */
export class SessionBusyError extends Error {
  override readonly name = "SessionBusyError";

  constructor(activity: string) {
    super(`the Session is ${activity}; wait for it to end, interrupt it, or use steer to say something to it`);
  }
}

/** A call that makes no sense. Nothing has happened. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What an error says of itself, whatever was thrown. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const shownLength = 60;

/** For the words of an error: a value in brief, whatever it is. */
export function showValue(value: unknown): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value.length > shownLength ? `${value.slice(0, shownLength)}…` : value);
    case "object":
      return value === null ? "null" : Object.prototype.toString.call(value);
    case "function":
      return "a function";
    default:
      return String(value);
  }
}
