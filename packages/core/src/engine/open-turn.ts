/** A turn between its first `request_begin` and its commit: the ledger's memory of it. */
import { isPayload, type OmniMessage, type ToolCallOutputPayload } from "@coxswain/protocol";
import { Calls } from "./calls.ts";
import { abortedTurn, type Attempt, isWholeCall, retriedTurn } from "./carry-over.ts";

export class OpenTurn {
  /** The input, with steering that earlier attempts took. */
  input: OmniMessage[];
  /** What the newest attempt sent. */
  sent: OmniMessage[];
  readonly #failed: Attempt[] = [];
  #attempt: Attempt | undefined = newAttempt();
  #goesOn = false;
  #isImplied: boolean;

  /** @param isImplied It has no `request_begin`. */
  constructor(input: OmniMessage[], isImplied = false) {
    this.input = input;
    this.sent = input;
    this.#isImplied = isImplied;
  }

  get isImplied(): boolean {
    return this.#isImplied;
  }

  /** No request is to end it, and its calls have their outputs: what the model says now is its next turn. */
  get isOver(): boolean {
    return this.#isImplied && this.calls.list.length > 0 && !this.calls.hasUnanswered;
  }

  get isInRequest(): boolean {
    return this.#attempt !== undefined;
  }

  /** Its last attempt has failed, and another was announced. */
  get awaitsRetry(): boolean {
    return this.#attempt === undefined && this.#goesOn;
  }

  /** What the newest attempt said, with outputs in order of arrival. */
  get said(): readonly OmniMessage[] {
    return this.#attempt?.said ?? [];
  }

  /** Of the newest attempt. */
  get calls(): Calls {
    return this.#attempt?.calls ?? new Calls();
  }

  say(message: OmniMessage): void {
    const said = isWholeCall(message) ? this.calls.add(message) : message;
    if (said !== undefined) this.#attempt?.said.push(said);
  }

  retry(steering: readonly OmniMessage[], timestamp: string): void {
    this.sent = [...this.input, ...retriedTurn(this.#failed, timestamp), ...steering];
    this.input = [...this.input, ...steering];
    this.#attempt = newAttempt();
    this.#isImplied = false;
  }

  /** @param goesOn Another attempt was announced. */
  fail(goesOn: boolean): void {
    if (this.#attempt !== undefined) this.#failed.push(this.#attempt);
    this.#attempt = undefined;
    this.#goesOn = goesOn;
  }

  /** Whether it is the output of a call of this turn. */
  takeOutput(record: OmniMessage<ToolCallOutputPayload>): boolean {
    for (const attempt of this.#attempts.toReversed()) {
      const output = attempt.calls.answer(record);
      if (output === undefined) continue;
      attempt.said.push(output);
      return true;
    }
    return false;
  }

  /** What stays owed when the provider refuses the turn for its size: all but the outputs, which a summary takes in. */
  refused(timestamp: string): OmniMessage[] {
    const asked = this.input.filter((message) => !isPayload(message, "tool_call_output"));
    return [...asked, ...retriedTurn(this.#attempts, timestamp)];
  }

  /** What the next request must carry if it ends here. */
  carryOver(timestamp: string): OmniMessage[] {
    return abortedTurn(this.input, this.#attempts, timestamp);
  }

  get #attempts(): Attempt[] {
    return this.#attempt === undefined ? this.#failed : [...this.#failed, this.#attempt];
  }
}

function newAttempt(): Attempt {
  return { said: [], calls: new Calls() };
}
