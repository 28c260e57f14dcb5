/** The rules of git on what to ignore, as far as they hold for a directory. */
import { lstatSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import ignore, { type Ignore } from "ignore";
import { readRegularFileSync } from "../../shared/regular-file.ts";
import { isInside } from "../../shared/is-inside.ts";

const maxRuleBytes = 256 * 1024;
/** As git has it there. */
const ignoresCase = process.platform === "darwin" || process.platform === "win32";

interface Level {
  directory: string;
  rules: Ignore;
}

export class IgnoreRules {
  readonly #levels: readonly Level[];

  private constructor(levels: readonly Level[]) {
    this.#levels = levels;
  }

  /**
   * The user's own rules, and those from the top of the repository, or else of the Workspace, down to the directory. What lies in an ignored
   * directory that somebody asks for is not ignored because of that.
   */
  static load(workspaceDir: string, directory: string): IgnoreRules {
    const top = repositoryOf(directory) ?? (isInside(workspaceDir, directory) ? workspaceDir : directory);
    let rules = IgnoreRules.#usersOwn(top).enter(top);
    let current = top;
    for (const step of relative(top, directory).split(sep)) {
      if (step === "") continue;
      current = join(current, step);
      rules = (rules.ignores(current, true) ? new IgnoreRules([]) : rules).enter(current);
    }
    return rules;
  }

  static #usersOwn(top: string): IgnoreRules {
    const configured = process.env["XDG_CONFIG_HOME"];
    const base = configured !== undefined && isAbsolute(configured) ? configured : join(homedir(), ".config");
    return new IgnoreRules([]).#with(top, join(base, "git", "ignore")).#with(top, join(top, ".git", "info", "exclude"));
  }

  /** With the rules that the directory itself holds. */
  enter(directory: string): IgnoreRules {
    return this.#with(directory, join(directory, ".gitignore"));
  }

  ignores(path: string, isDirectory: boolean): boolean {
    let isIgnored = false;
    for (const { directory, rules } of this.#levels) {
      const name = relative(directory, path).split(sep).join("/");
      const result = rules.test(isDirectory ? `${name}/` : name);
      if (result.ignored) isIgnored = true;
      else if (result.unignored) isIgnored = false;
    }
    return isIgnored;
  }

  #with(directory: string, file: string): IgnoreRules {
    const text = readRules(file);
    if (text === undefined) return this;
    const rules = ignore({ ignorecase: ignoresCase }).add(text);
    return new IgnoreRules([...this.#levels, { directory, rules }]);
  }
}

/** The directory, or the nearest above it, that has a `.git`. */
function repositoryOf(directory: string): string | undefined {
  for (let current = directory; ; current = dirname(current)) {
    if (isThere(join(current, ".git"))) return current;
    if (dirname(current) === current) return undefined;
  }
}

/** As far as we may look. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
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
