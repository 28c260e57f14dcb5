/** One turn of it: whatever could happen without a new event has happened when it ends. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
