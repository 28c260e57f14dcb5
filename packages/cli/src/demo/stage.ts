/** What a scene can do: give Tasks, steer, interrupt, compact. Keeps what was seen of it. */
import { type OmniMessage, userText } from "@coxswain/protocol";
import type { ApproveFn, Session } from "@coxswain/core";
import type { ToolPermissions } from "../approval.ts";
import { exitCodes } from "../exit-code.ts";
import type { Screen } from "../output/screen.ts";
import { TextView } from "../output/text-view.ts";
import { runTask } from "../run-task.ts";
import { inOneLine } from "../terminal-text.ts";

export interface StageParts {
  session: Session;
  screen: Screen;
  /** Ends the demo. */
  signal: AbortSignal;
  approve: ApproveFn;
  /** The tools are told of only where a Trace file begins, so these hold for all Tasks. */
  permissions: ToolPermissions;
}

export class Stage {
  /** Inputs and messages, in order. */
  readonly seen: OmniMessage[] = [];
  /** Texts that a running Task took. */
  steersAccepted = 0;
  /** Of the first Task that did not end as its scene wants. */
  exitCode: number = exitCodes.done;
  readonly #parts: StageParts;
  #interruption = new AbortController();

  constructor(parts: StageParts) {
    this.#parts = parts;
  }

  get isOver(): boolean {
    return this.exitCode !== exitCodes.done || this.#parts.signal.aborted;
  }

  /** @param watch Sees each message before it is shown, in time to steer and to interrupt. */
  async task(prompt: string, watch?: (message: OmniMessage) => void): Promise<void> {
    if (this.isOver) return;
    const { session, screen, signal, approve, permissions } = this.#parts;
    await screen.line(`[prompt] ${prompt}`);
    const input = [userText(prompt)];
    this.seen.push(...input);
    this.#interruption = new AbortController();
    const planned = this.#interruption.signal;
    const outcome = await runTask({
      session,
      input,
      view: new TextView(screen),
      screen,
      signal: AbortSignal.any([signal, planned]),
      approve,
      permissions,
      onMessage: (message) => {
        this.seen.push(message);
        watch?.(message);
      },
    });
    const isAsPlanned = planned.aborted && outcome.exitCode === exitCodes.interrupted;
    if (!isAsPlanned) this.exitCode = outcome.exitCode;
  }

  steer(text: string): void {
    const { session, screen } = this.#parts;
    const isAccepted = session.steer(text);
    if (isAccepted) this.steersAccepted += 1;
    void screen.line(`[steer] ${isAccepted ? "accepted while the Task runs" : "refused"}: ${inOneLine(text)}`);
  }

  /** As Ctrl-C does in `cox run`. */
  interrupt(): void {
    void this.#parts.screen.line("[interrupt] while a tool is running");
    this.#interruption.abort();
  }

  async compact(): Promise<void> {
    if (this.isOver) return;
    const { session, screen, signal } = this.#parts;
    const view = new TextView(screen);
    for await (const message of session.compact({ signal })) {
      this.seen.push(message);
      await view.show(message);
    }
    await screen.endAnswer();
  }
}
