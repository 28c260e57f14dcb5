/** Each message one line of JSON on standard output, and nothing else there. */
import type { OmniMessage } from "@coxswain/protocol";
import type { TaskOutcome } from "../task-outcome.ts";
import { inOneLine, jsonLine } from "../terminal-text.ts";
import type { OutputStream } from "./output-stream.ts";
import type { Screen } from "./screen.ts";
import type { TaskView } from "./task-view.ts";

export class JsonView implements TaskView {
  readonly #stdout: OutputStream;
  readonly #screen: Screen;

  constructor(stdout: OutputStream, screen: Screen) {
    this.#stdout = stdout;
    this.#screen = screen;
  }

  async show(message: OmniMessage): Promise<void> {
    await this.#stdout.write(`${jsonLine(message)}\n`);
  }

  async end(outcome: TaskOutcome): Promise<void> {
    if (outcome.reason !== undefined) await this.#screen.line(`cox: ${inOneLine(outcome.reason)}`);
  }
}
