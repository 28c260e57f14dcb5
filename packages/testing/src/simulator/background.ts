/** Background work of one process: it ends, and reports, when the schedule says so. */
import type { BackgroundReport } from "@coxswain/core";
import type { Observer } from "./observation.ts";
import { reportOpening } from "./texts.ts";

type ReportListener = (report: BackgroundReport) => void;

export class Background {
  readonly #log: Observer;
  readonly #listeners = new Set<ReportListener>();
  /** The host has been told of a report since the last run began: the model has not been. */
  hasNews = false;

  constructor(log: Observer) {
    this.#log = log;
  }

  listen(listener: ReportListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** @param words Hold the mark. */
  end(mark: string, words: string): void {
    this.#log.add({ at: "reported", mark });
    for (const listener of this.#listeners) listener({ text: `${reportOpening}${words}`, summary: mark });
  }

  /** What the engine calls. */
  tellHost({ summary }: BackgroundReport, isIdle: boolean): void {
    this.hasNews = true;
    this.#log.add({ at: "told host", mark: summary, isIdle });
  }
}
