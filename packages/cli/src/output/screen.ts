/** The two standard streams, kept apart where they share one terminal. */
import { cut } from "../terminal-text.ts";
import type { OutputStream } from "./output-stream.ts";
import { createStyle, type Style } from "./style.ts";
import { lastColumns } from "./text-width.ts";

export interface StatusLines {
  line(text: string): Promise<void>;
}

export interface ScreenOptions {
  stdout: OutputStream;
  stderr: OutputStream;
  env: Readonly<Record<string, string | undefined>>;
}

/** What it is given must be free of control codes, its own styles aside. */
export class Screen implements StatusLines {
  readonly style: Style;
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;
  readonly #mayRewrite: boolean;
  #answerIsOpen = false;
  #statusIsOpen = false;
  #hasPassingLine = false;
  #question: Promise<unknown> | undefined;
  /** What is being typed. */
  #typed = "";

  constructor({ stdout, stderr, env }: ScreenOptions) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#mayRewrite = stderr.isTerminal && env["TERM"] !== "dumb";
    this.style = createStyle(stderr.isTerminal, env);
  }

  get answerIsGone(): boolean {
    return this.#stdout.isGone;
  }

  /** To standard output, and nothing else ever is. */
  async answer(text: string): Promise<void> {
    if (text === "") return;
    void this.#stderr.write(this.#erased() + (this.#stdout.isTerminal ? this.#statusEnd() : ""));
    this.#answerIsOpen = !text.endsWith("\n");
    await this.#stdout.write(text);
  }

  /** The answer ends its line. */
  async endAnswer(): Promise<void> {
    if (!this.#answerIsOpen) return;
    this.#answerIsOpen = false;
    await this.#stdout.write("\n");
  }

  /** A line of its own on standard error. */
  async line(text: string): Promise<void> {
    const before = `${this.#erased()}${this.#answerEnd()}${this.#statusEnd()}`;
    await this.#stderr.write(`${before}${text}\n${this.#typedLine()}`);
  }

  /** What is being typed stays below all else, where that is possible. */
  typing(text: string): void {
    this.#typed = text;
    void this.#stderr.write(this.#erased() + this.#typedLine());
  }

  /** Goes on where the last one ended, on standard error. */
  async faint(text: string): Promise<void> {
    if (text === "") return;
    const before = this.#erased() + this.#answerEnd();
    this.#statusIsOpen = !text.endsWith("\n");
    await this.#stderr.write(before + this.style.dim(text));
  }

  async endStatus(): Promise<void> {
    await this.#stderr.write(this.#statusEnd());
  }

  /** A line that the next one takes the place of; only where that is possible. */
  async passing(text: string): Promise<void> {
    if (!this.#hasRoom || this.#typed !== "") return;
    const before = this.#erased();
    this.#hasPassingLine = true;
    await this.#stderr.write(before + this.style.dim(cut(text, this.#stderr.columns - 1)));
  }

  /** While somebody is asked, `free` does not resolve. */
  async asking<T>(question: () => Promise<T>): Promise<T> {
    const asked = question();
    this.#question = asked.catch(() => undefined);
    try {
      return await asked;
    } finally {
      this.#question = undefined;
    }
  }

  async free(): Promise<void> {
    while (this.#question !== undefined) await this.#question;
  }

  async flush(): Promise<void> {
    await this.#stderr.write(this.#erased());
    await this.#stdout.flush();
    await this.#stderr.flush();
  }

  /** For a line that the next one takes the place of. */
  get #hasRoom(): boolean {
    return this.#mayRewrite && !this.#statusIsOpen && !this.#answerIsOpen && this.#question === undefined;
  }

  // Each of these says what must be written first, and takes it as written: two writers never come in between.

  #answerEnd(): string {
    if (!this.#answerIsOpen || !this.#stdout.isTerminal || !this.#stderr.isTerminal) return "";
    this.#answerIsOpen = false;
    return "\n";
  }

  #statusEnd(): string {
    if (!this.#statusIsOpen) return "";
    this.#statusIsOpen = false;
    return "\n";
  }

  #typedLine(): string {
    if (this.#typed === "" || !this.#hasRoom) return "";
    this.#hasPassingLine = true;
    // A row that is full would go on in the next one, which nothing erases.
    return `> ${lastColumns(this.#typed, this.#stderr.columns - 3)}`;
  }

  #erased(): string {
    if (!this.#hasPassingLine) return "";
    this.#hasPassingLine = false;
    return "\r\x1b[K";
  }
}
