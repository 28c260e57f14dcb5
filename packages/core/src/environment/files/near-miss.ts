/** Why a text was not found in a file, as far as it can be told: what in it is nearly the same. */

import { mask } from "../../shared/secrets.ts";

/** A hint is not worth that everybody else waits for it. */
const maxLines = 20_000;
const maxComparisons = 200_000;
const maxComparedLength = 500_000;

interface Likeness {
  words: string;
  /** Two lines that come out the same are alike. */
  fold: (line: string) => string;
}

const squeezed = (line: string): string => line.replace(/\s+/g, " ").trim();
const plainMarks = (line: string): string =>
  squeezed(line.normalize("NFKC"))
    .replace(/[\u2018\u2019\u201A\u201B\u2032]/g, "'")
    .replace(/[\u201C\u201D\u201E\u201F\u2033]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, "-");

const likenesses: readonly Likeness[] = [
  { words: "but for white space at its end", fold: (line) => line.trimEnd() },
  {
    words: "but for tabs and spaces: copy the text exactly, with its indentation",
    fold: (line) => line.replace(/^[\t ]+/, (start) => start.replace(/\t| {2,8}/g, " ")).trimEnd(),
  },
  { words: "but for white space: copy the text exactly, with its indentation", fold: squeezed },
  { words: "but for the kind of quotes, dashes, spaces or accents: copy the text exactly", fold: plainMarks },
  { words: "but for upper and lower case", fold: (line) => plainMarks(line).toLowerCase() },
];

/** A sentence about the first line from which on the text is nearly the wanted one; `undefined` when there is none. */
export function nearMiss(text: string, wanted: string): string | undefined {
  if (wanted.includes(mask)) return `What shows as ${mask} is a secret: leave it out of \`old_string\`.`;
  if (/^ *\d+\t/m.test(wanted) && text.includes(withoutNumbers(wanted))) {
    return "It is there without the line numbers: they do not belong to the file.";
  }
  if (!text.includes("\n") && text.includes("\r")) {
    return "The lines of this file end in CR alone: write \\r where a line ends.";
  }
  if (text.length + wanted.length > maxComparedLength) return undefined;
  if (text.includes("\r") && wanted.includes("\n") && text.replace(/\r/g, "").includes(wanted.replace(/\r/g, ""))) {
    return "It is there but for carriage returns within its lines.";
  }
  const lines = text.split("\n");
  const needle = wanted.trim().split("\n");
  if (lines.length > maxLines || needle.length * lines.length > maxComparisons) return undefined;
  for (const { words, fold } of likenesses) {
    const number = lineLike(lines.map(fold), needle.map(fold));
    if (number !== undefined) return `Line ${number} is like it ${words}.`;
  }
  return undefined;
}

function withoutNumbers(text: string): string {
  return text.replace(/^ *\d+\t/gm, "");
}

/** 1-based number of the line where the needle begins; in its first and last line it may be a part. */
function lineLike(lines: readonly string[], needle: readonly string[]): number | undefined {
  if (needle.every((line) => line.trim() === "")) return undefined;
  const last = needle.length - 1;
  const isLike = (line: string | undefined, wanted: string, index: number): boolean => {
    if (line === undefined) return false;
    if (last === 0) return line.includes(wanted);
    if (index === 0) return line.endsWith(wanted);
    return index === last ? line.startsWith(wanted) : line === wanted;
  };
  const index = lines.findIndex((_, start) =>
    needle.every((line, offset) => isLike(lines[start + offset], line, offset)),
  );
  return index < 0 ? undefined : index + 1;
}
