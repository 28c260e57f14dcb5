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
