/** What the model last saw of each file: tells whether someone else has changed it since. */
import { createHash } from "node:crypto";

export class ReadLedger {
  readonly #digests = new Map<string, string>();

  /** @param bytes The whole file. */
  note(realPath: string, bytes: Uint8Array): void {
    this.#digests.set(realPath, digestOf(bytes));
  }

  /** `false` also for a file that was never read. */
  hasChanged(realPath: string, bytes: Uint8Array): boolean {
    const seen = this.#digests.get(realPath);
    return seen !== undefined && seen !== digestOf(bytes);
  }
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64");
}
