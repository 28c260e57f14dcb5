/** What the model last saw of each file, and a person before he decided: tells whether someone else has changed it since. */
import { createHash } from "node:crypto";

/** Of decisions that were never carried out, so many are remembered. */
const maxShown = 1000;

export class ReadLedger {
  readonly #seen = new Map<string, string>();
  readonly #shown = new Map<string, string>();

  /** @param bytes The whole file; `undefined` when it is too large to be compared. */
  note(realPath: string, bytes: Uint8Array | undefined): void {
    if (bytes === undefined) this.#seen.delete(realPath);
    else this.#seen.set(realPath, digestOf(bytes));
  }

  /** @param bytes What a preview was made from; `undefined` when there was no file. */
  noteShown(toolCallId: string, bytes: Uint8Array | undefined): void {
    this.#shown.delete(toolCallId);
    this.#shown.set(toolCallId, digestOf(bytes));
    const oldest = this.#shown.keys().next();
    if (this.#shown.size > maxShown && oldest.done !== true) this.#shown.delete(oldest.value);
  }

  /** `false` also for a file that was never read. */
  hasChanged(realPath: string, bytes: Uint8Array): boolean {
    const seen = this.#seen.get(realPath);
    return seen !== undefined && seen !== digestOf(bytes);
  }

  /** Since the preview of this call, if there was one; not counting what other calls did. */
  hasChangedSinceShown(toolCallId: string, realPath: string, bytes: Uint8Array | undefined): boolean {
    const shown = this.#shown.get(toolCallId);
    const digest = digestOf(bytes);
    return shown !== undefined && shown !== digest && this.#seen.get(realPath) !== digest;
  }
}

function digestOf(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? "" : createHash("sha256").update(bytes).digest("base64");
}
