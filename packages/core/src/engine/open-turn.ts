/** A turn between its first `request_begin` and its commit: the ledger's memory of it. */
import { isPayload, type OmniMessage, type ToolCallOutputPayload } from "@coxswain/protocol";
import { abortedTurn, type Attempt, isWholeCall, retriedTurn } from "./carry-over.ts";

export class OpenTurn {
  /** The input, with steering that earlier attempts took. */
  input: OmniMessage[];
  /** What the newest attempt sent. */
  sent: OmniMessage[];
  readonly #failed: Attempt[] = [];
  #attempt: Attempt | undefined = newAttempt();
  #goesOn = false;

  constructor(input: OmniMessage[]) {
    this.input = input;
    this.sent = input;
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

  say(message: OmniMessage): void {
    this.#attempt?.said.push(message);
    if (isWholeCall(message)) this.#attempt?.unanswered.add(message.payload.tool_call_id);
  }

  retry(steering: readonly OmniMessage[], timestamp: string): void {
    this.sent = [...this.input, ...retriedTurn(this.#failed, timestamp), ...steering];
    this.input = [...this.input, ...steering];
    this.#attempt = newAttempt();
  }

  /** @param goesOn Another attempt was announced. */
  fail(goesOn: boolean): void {
    if (this.#attempt !== undefined) this.#failed.push(this.#attempt);
    this.#attempt = undefined;
    this.#goesOn = goesOn;
  }

  /** Whether it is the output of a call of this turn. */
  takeOutput(record: OmniMessage<ToolCallOutputPayload>): boolean {
    const attempt = this.#attempts.findLast(({ unanswered }) => unanswered.delete(record.payload.tool_call_id));
    attempt?.said.push(record);
    return attempt !== undefined;
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
  return { said: [], unanswered: new Set() };
}
