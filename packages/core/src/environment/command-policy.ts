/** Named deny rules over shell commands: a guard against accidents, not against intent. */
import { createContext, Script } from "node:vm";

export interface CommandRule {
  name: string;
  /** A regular expression, looked for anywhere in the command. */
  pattern: string | RegExp;
}

/** A rule that takes longer is taken to match: what cannot be checked is not let through. */
const ruleTimeoutMs = 100;
const test = new Script("expression.test(command)");

export class CommandPolicy {
  readonly #rules: readonly { name: string; expression: RegExp }[];

  /** @throws SyntaxError for a pattern that is no regular expression. */
  constructor(rules: readonly CommandRule[]) {
    this.#rules = rules.map(({ name, pattern }) => {
      try {
        const flags = typeof pattern === "string" ? "" : pattern.flags.replace(/[gy]/g, "");
        return { name, expression: new RegExp(typeof pattern === "string" ? pattern : pattern.source, flags) };
      } catch (error) {
        throw new SyntaxError(`Command rule "${name}" does not do: ${String(error)}`);
      }
    });
  }

  /** The name of the first rule that matches the command, or what a shell makes of its continued lines. */
  match(command: string): string | undefined {
    const joined = command.replaceAll("\\\n", "");
    const texts = joined === command ? [command] : [command, joined];
    return this.#rules.find(({ expression }) => texts.some((text) => matches(expression, text)))?.name;
  }
}

/** Within a script, because only a script can be stopped while an expression runs away. */
function matches(expression: RegExp, command: string): boolean {
  try {
    return test.runInContext(createContext({ expression, command }), { timeout: ruleTimeoutMs }) === true;
  } catch {
    return true;
  }
}
