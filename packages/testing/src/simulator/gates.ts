/**
 * Where the scripted parts of one process wait. Each of their awaits is a gate; nothing passes one before the schedule
 * opens it.
 */
export type GateKind = "model" | "tool" | "approver" | "environment" | "disk" | "reader";

export interface Gate {
  readonly kind: GateKind;
  /** For the schedule's log. */
  readonly label: string;
  /** What it returns is waited for before anything else happens. */
  open(): void | Promise<void>;
}

export class Gates {
  readonly #closed = new Set<Gate>();
  #silent: string[] = [];

  get closed(): readonly Gate[] {
    return [...this.#closed];
  }

  /** Parts that will never answer, since `forgetSilent`. */
  get silent(): readonly string[] {
    return this.#silent;
  }

  add(gate: Gate): void {
    this.#closed.add(gate);
  }

  open(gate: Gate): void | Promise<void> {
    this.#closed.delete(gate);
    return gate.open();
  }

  remove(gate: Gate): void {
    this.#closed.delete(gate);
  }

  /** Resolves once the gate is opened. */
  pass(kind: GateKind, label: string): Promise<void> {
    return new Promise((resolve) => this.#closed.add({ kind, label, open: resolve }));
  }

  /** Somebody who does not answer, whatever happens. */
  never(label: string): Promise<never> {
    this.#silent.push(label);
    return new Promise(() => undefined);
  }

  forgetSilent(): void {
    this.#silent = [];
  }
}
