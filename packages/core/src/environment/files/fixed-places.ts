/** Where directories really are, found out once: whoever turns one into a link later leads nobody elsewhere. */
import { normalize, resolve } from "node:path";
import { isInside } from "../../shared/is-inside.ts";
import { foldedPath } from "./file-names.ts";
import { followLinks } from "./follow-links.ts";

/** By their paths as they are written; can be handed to another thread. */
export type FixedPlaces = ReadonlyMap<string, string>;

/** @param paths What is not there yet must be made where its path says now. */
export function fixPlaces(paths: readonly string[]): FixedPlaces {
  return new Map(paths.map((path) => [path, realOf(path)]));
}

export interface MovedPlace {
  /** The name of it that leads elsewhere by now. */
  name: string;
  /** Where it was. */
  was: string;
}

/**
 * The place that the path goes by and that a link leads away from by now. One that was removed, or made anew, is where
 * it was.
 *
 * @param path Absolute, as it is written.
 */
export function movedPlace(places: FixedPlaces, path: string): MovedPlace | undefined {
  const names = [path, normalize(path)].map(foldedPath);
  for (const [written, was] of places) {
    for (const name of new Set([resolve(written), was])) {
      if (names.some((candidate) => isInside(foldedPath(name), candidate)) && realOf(name) !== was)
        return { name, was };
    }
  }
  return undefined;
}

export function realOf(path: string): string {
  const followed = followLinks(resolve(path));
  return typeof followed === "string" ? resolve(path) : followed.real;
}
