/** Which of a Project's patterns for forbidden files a path falls under. */
import { basename, sep } from "node:path";
import { isInside } from "../../shared/is-inside.ts";
import { foldedPath, type NameMatcher } from "./file-names.ts";

export type MatcherOf = (glob: string) => NameMatcher;

/** A path in the Workspace goes by all its steps there, one outside by its last alone. */
export class ForbiddenNames {
  readonly #foldedWorkspace: string;
  readonly #workspaceDepth: number;
  readonly #matchers: readonly { glob: string; matches: NameMatcher }[];

  /** @param workspaceDir A real path. */
  constructor(workspaceDir: string, globs: readonly string[], matcherOf: MatcherOf) {
    this.#foldedWorkspace = foldedPath(workspaceDir);
    this.#workspaceDepth = stepsOf(workspaceDir).length;
    this.#matchers = globs.map((glob) => ({ glob, matches: matcherOf(glob) }));
  }

  get isEmpty(): boolean {
    return this.#matchers.length === 0;
  }

  /** For one whose directories in the Workspace were asked about: each is matched once on the way, not once for each step below it. */
  patternOfLast(path: string): string | undefined {
    if (this.isEmpty) return undefined;
    const steps = this.#stepsWithin(path);
    if (steps === undefined) return this.#match(basename(path));
    return steps.length === 0 ? undefined : this.#match(steps.join("/"));
  }

  /** Of the path, or a directory above it in the Workspace. */
  patternOf(path: string): string | undefined {
    if (this.isEmpty) return undefined;
    let name = "";
    for (const step of this.#stepsWithin(path) ?? [basename(path)]) {
      name = name === "" ? step : `${name}/${step}`;
      const pattern = this.#match(name);
      if (pattern !== undefined) return pattern;
    }
    return undefined;
  }

  #match(name: string): string | undefined {
    return this.#matchers.find(({ matches }) => matches(name))?.glob;
  }

  #stepsWithin(path: string): string[] | undefined {
    if (!isInside(this.#foldedWorkspace, foldedPath(path))) return undefined;
    return stepsOf(path).slice(this.#workspaceDepth);
  }
}

function stepsOf(path: string): string[] {
  return path.split(sep).filter((step) => step !== "");
}
