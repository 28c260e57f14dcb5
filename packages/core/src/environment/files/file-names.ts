/** How names are compared: a file system may not tell case, Unicode forms or what trails a name apart. */
import picomatch from "picomatch";

/** @param path Or a pattern: nothing but the letters changes. */
function foldedCase(path: string): string {
  if (/^\p{ASCII}*$/u.test(path)) return path.toLowerCase();
  return path.normalize("NFD").toUpperCase().toLowerCase().normalize("NFC");
}

/** Without the dots and spaces at the end of each name. */
function trimmed(path: string): string {
  return path.replace(/(?<=[^/. ])[. ]+(?=\/|$)/g, "");
}

export function foldedPath(path: string): string {
  return trimmed(foldedCase(path));
}

/** Whether a pattern names more than the one file that it spells out. */
export function isGlob(pattern: string): boolean {
  return /[*?[\]{}()!]/.test(pattern);
}

export type NameMatcher = (path: string) => boolean;

/** @param glob Relative to a directory, as are the paths; one without a slash holds in every directory below it. */
export function forbiddenMatcher(glob: string): NameMatcher {
  const folded = foldedCase(glob);
  const pattern = folded.replace(/^\.?\//, "").replace(/\/+$/, "");
  const isAnchored = pattern.includes("/") || /^\.?\//.test(folded);
  // A line feed in a name is a character like any other.
  const matches = picomatch(isAnchored ? pattern : `**/${pattern}`, { dot: true, flags: "s" });
  return (path) => {
    const name = foldedCase(path);
    const bare = trimmed(name);
    return matches(name) || (bare !== name && matches(bare));
  };
}
