/** One turn of the event loop: whatever had been decided when it began has settled when it ends. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
