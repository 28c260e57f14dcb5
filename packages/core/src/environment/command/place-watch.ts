/** Whether what is at some paths stays the same file or directory, whatever is written to it. */
import { type FSWatcher, statSync, watch } from "node:fs";

export class PlaceWatch {
  readonly #identities: ReadonlyMap<string, string>;
  readonly #watchers: FSWatcher[] = [];
  #replaced: string | undefined;
  #listener: (() => void) | undefined;
  #isOver = false;

  constructor(paths: readonly string[]) {
    this.#identities = new Map(paths.map((path) => [path, identityOf(path)]));
    for (const path of paths) this.#watch(path);
  }

  /** Called once at most, as soon as the system tells of the first. */
  onReplaced(listener: () => void): void {
    this.#listener = listener;
    if (this.#replaced !== undefined) listener();
  }

  /** Looks a last time, for the system does not tell of everything everywhere. @returns The first that was replaced. */
  end(): string | undefined {
    this.#listener = undefined;
    for (const path of this.#identities.keys()) this.#check(path);
    this.#close();
    return this.#replaced;
  }

  #watch(path: string): void {
    try {
      const watcher = watch(path, { persistent: false }, () => this.#check(path));
      watcher.on("error", () => watcher.close());
      this.#watchers.push(watcher);
    } catch {
      // It has gone already, or the system watches no more: the last look is left.
    }
  }

  #check(path: string): void {
    if (this.#isOver || identityOf(path) === this.#identities.get(path)) return;
    this.#replaced = path;
    this.#close();
    this.#listener?.();
  }

  #close(): void {
    this.#isOver = true;
    for (const watcher of this.#watchers) watcher.close();
  }
}

/** The number of one that was removed may be given to the next one, but not its birth. */
function identityOf(path: string): string {
  try {
    const { dev, ino, birthtimeNs } = statSync(path, { bigint: true });
    return [dev, ino, birthtimeNs].join(" ");
  } catch {
    return "";
  }
}
