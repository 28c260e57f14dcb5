/** One Task, from its input to its last message. */
import { notice, type OmniMessage, type ThinkingLevelName } from "@coxswain/protocol";
import type { ApproveFn, Session } from "@coxswain/core";
import type { ToolPermissions } from "./approval.ts";
import type { Screen } from "./output/screen.ts";
import type { TaskView } from "./output/task-view.ts";
import { TaskOutcome } from "./task-outcome.ts";

export interface TaskOptions {
  session: Session;
  /** Empty: what the Session owes is sent. */
  input: OmniMessage[];
  view: TaskView;
  screen: Screen;
  signal: AbortSignal;
  approve: ApproveFn;
  /** Told of the tools that there are. */
  permissions: ToolPermissions;
  thinkingLevel?: ThinkingLevelName | undefined;
  /** Each message, before it is shown. */
  onMessage?: ((message: OmniMessage) => void) | undefined;
}

/** @throws UsageError when there is nothing to send */
export async function runTask(options: TaskOptions): Promise<TaskOutcome> {
  const { session, view, screen, signal } = options;
  const outcome = new TaskOutcome();
  const shownCalls = new ShownCalls(signal);
  const messages = session.run(options.input, {
    signal,
    thinkingLevel: options.thinkingLevel,
    approve: async (toolCall) => {
      await shownCalls.until(toolCall.payload.tool_call_id);
      return signal.aborted ? "deny" : options.approve(toolCall);
    },
  });
  for await (const message of messages) {
    outcome.add(message);
    options.permissions.add(message);
    options.onMessage?.(message);
    await screen.free();
    await view.show(message);
    if (message.payload.type !== "tool_call") continue;
    shownCalls.add(message.payload.tool_call_id);
    // The question about it comes before anything else is shown: what stands above a question is what it is about.
    await new Promise((resolve) => setImmediate(resolve));
  }
  await view.end(outcome);
  return outcome;
}

/** What happens between Tasks too: once for each Session. */
export function showNotices(session: Session, view: TaskView): void {
  session.onNotice(({ level, code, message }) => void view.show(notice(level, code, message)));
}

/** The engine runs ahead of its reader; a person is asked about what he has seen. */
class ShownCalls {
  readonly #ids = new Set<string>();
  readonly #signal: AbortSignal;
  #wake: (() => void) | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#wake?.(), { once: true });
  }

  add(id: string): void {
    this.#ids.add(id);
    this.#wake?.();
  }

  async until(id: string): Promise<void> {
    while (!this.#ids.has(id) && !this.#signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
