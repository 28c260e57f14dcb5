/** The engine's two moments of the event loop. */

/** One turn of it: whatever had been decided when it began has settled when it ends. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Called once nothing is left to do that needs no new event: what comes together is then there together. */
export function whenSettled(callback: () => void): void {
  process.nextTick(callback);
}
