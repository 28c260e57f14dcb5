/** One at a time per key, in the order of asking. */

/** Of the whole process: two Sessions may change the same file. */
const lastOf = new Map<string, Promise<unknown>>();

export async function withLock<T>(key: string, work: () => Promise<T>): Promise<T> {
  const before = lastOf.get(key) ?? Promise.resolve();
  const mine = before.then(work);
  const settled = mine.catch(() => undefined);
  lastOf.set(key, settled);
  try {
    return await mine;
  } finally {
    if (lastOf.get(key) === settled) lastOf.delete(key);
  }
}
