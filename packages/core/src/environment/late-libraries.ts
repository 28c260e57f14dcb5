/**
 * Libraries that the first request does not wait for. Node never loads again what once could not be loaded, such as in a
 * moment without descriptors: so they are loaded right behind it, and not by the call that needs them.
 */

export function loadValidator() {
  return import("@cfworker/json-schema");
}

export function loadDiff() {
  return import("diff");
}

/** What cannot be loaded is told by the call that needs it. */
export function loadSoon(): void {
  setImmediate(() => void Promise.allSettled([loadValidator(), loadDiff()]));
}
