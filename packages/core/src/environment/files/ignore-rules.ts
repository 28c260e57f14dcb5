/** The .gitignore files that hold for a directory. */
import { join, relative, sep } from "node:path";
import ignore, { type Ignore } from "ignore";
import { readRegularFileSync } from "../../shared/regular-file.ts";

const maxRuleBytes = 256 * 1024;

export class IgnoreRules {
  readonly #levels: readonly { directory: string; rules: Ignore }[];

  private constructor(levels: readonly { directory: string; rules: Ignore }[]) {
    this.#levels = levels;
  }

  /** The rules of a directory and of those above it, up to `top`. */
  static load(top: string, directory: string): IgnoreRules {
    const steps = relative(top, directory).split(sep);
    let rules = new IgnoreRules([]).enter(top);
    if (steps[0] === "" || steps[0] === "..") return directory === top ? rules : new IgnoreRules([]).enter(directory);
    let current = top;
    for (const step of steps) {
      current = join(current, step);
      rules = rules.enter(current);
    }
    return rules;
  }

  /** With the rules that the directory itself holds. */
  enter(directory: string): IgnoreRules {
    const text = readRules(join(directory, ".gitignore"));
    if (text === undefined) return this;
    return new IgnoreRules([...this.#levels, { directory, rules: ignore().add(text) }]);
  }

  ignores(path: string, isDirectory: boolean): boolean {
    let ignored = false;
    for (const { directory, rules } of this.#levels) {
      const name = relative(directory, path).split(sep).join("/");
      const result = rules.test(isDirectory ? `${name}/` : name);
      if (result.ignored) ignored = true;
      else if (result.unignored) ignored = false;
    }
    return ignored;
  }
}

/** Only of a regular file: a link may lead anywhere. */
function readRules(path: string): string | undefined {
  try {
    return readRegularFileSync(path, { maxBytes: maxRuleBytes }).toString("utf8");
  } catch {
    return undefined;
  }
}
