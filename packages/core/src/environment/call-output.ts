/** The output of one call while it grows: a bounded live view, and a bounded text for the model. */
import type { Builders, OmniMessage, StopReason } from "@coxswain/protocol";
import { headOf } from "../shared/cut.ts";
import { LineRewriter } from "./text/line-rewriter.ts";
import { LiveView } from "./text/live-view.ts";
import { OutputStore } from "./text/output-store.ts";
import { gateText, TextGate } from "./text/text-gate.ts";

const maxNoteLength = 2000;

export interface CallOutputOptions {
  build: Builders;
  toolCallId: string;
  limit: number;
  scratchpadDir: string;
  secrets: readonly string[];
}

export class CallOutput {
  readonly #options: CallOutputOptions;
  readonly #gate: TextGate;
  readonly #lines = new LineRewriter();
  readonly #view: LiveView;
  #store: OutputStore;
  #started = false;

  constructor(options: CallOutputOptions) {
    this.#options = options;
    this.#gate = new TextGate(options.secrets);
    this.#view = new LiveView(options.limit);
    this.#store = new OutputStore(options);
  }

  /** Text of a streaming tool; gives the fragments to show. */
  push(delta: string): OmniMessage[] {
    return this.#take(this.#gate.push(delta));
  }

  /** A text in place of all that was streamed. */
  replace(text: string): void {
    this.#store.discard();
    this.#store = new OutputStore(this.#options);
    this.#store.append(gateText(text, this.#options.secrets));
  }

  /** Words of ours after what the tool said. */
  append(text: string): void {
    const clean = gateText(text, this.#options.secrets);
    this.#store.append(this.#store.length === 0 || this.#store.endsLine ? clean : `\n${clean}`);
  }

  /** The end of the stream; gives what was held and the `stop`. */
  end(stopReason: StopReason): OmniMessage[] {
    const fragments = this.#take(this.#gate.flush());
    this.#store.append(this.#lines.takeAll());
    if (this.#started) fragments.push(this.#fragment("stop", "", stopReason));
    return fragments;
  }

  /** The one complete message. Notes stand outside the limit. */
  complete(end: { notes: string[]; images?: string[] | undefined; stopReason: StopReason }): OmniMessage {
    const text = this.#store.finish();
    const notes = end.notes
      .filter((note) => note !== "")
      .map((note) => headOf(gateText(note, this.#options.secrets), maxNoteLength));
    const body = text === "" ? "[no output]" : notes.length > 0 ? text.replace(/\n$/, "") : text;
    const { build, toolCallId } = this.#options;
    return build.toolCallOutput({
      output: [body, ...notes].join("\n"),
      toolCallId,
      images: end.images,
      stopReason: end.stopReason,
    });
  }

  /** For a call that nobody reads any more. */
  close(): void {
    this.#store.close();
  }

  #take(text: string): OmniMessage[] {
    this.#lines.push(text);
    this.#store.append(this.#lines.takeLines());
    const shown = this.#view.push(text);
    if (shown === "") return [];
    const fragments = this.#started ? [] : [this.#fragment("start", "")];
    this.#started = true;
    fragments.push(this.#fragment("delta", shown));
    return fragments;
  }

  #fragment(eventType: "start" | "delta" | "stop", output: string, stopReason?: StopReason): OmniMessage {
    const { build, toolCallId } = this.#options;
    return build.partialToolCallOutput({ eventType, toolCallId, output, stopReason });
  }
}
