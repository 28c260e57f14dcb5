/** Signals of hosts. One may stop many runs: with a listener for each of them Node would warn of a leak. */

interface Listener {
  readonly waiting: Set<() => void>;
  readonly tellAll: () => void;
}

const listeners = new WeakMap<AbortSignal, Listener>();

/**
 * @param signal One that has not fired.
 * @returns Ends it; the last one to end lets go of the signal.
 */
export function whenAborted(signal: AbortSignal, notify: () => void): () => void {
  const listener = listeners.get(signal) ?? listenTo(signal);
  listener.waiting.add(notify);
  return () => {
    listener.waiting.delete(notify);
    if (listener.waiting.size > 0 || listeners.get(signal) !== listener) return;
    listeners.delete(signal);
    signal.removeEventListener("abort", listener.tellAll);
  };
}

function listenTo(signal: AbortSignal): Listener {
  const waiting = new Set<() => void>();
  const tellAll = (): void => {
    for (const notify of Array.from(waiting)) notify();
  };
  signal.addEventListener("abort", tellAll, { once: true });
  const listener = { waiting, tellAll };
  listeners.set(signal, listener);
  return listener;
}
