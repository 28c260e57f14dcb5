/** How much room a text takes in a terminal: at most so much, since terminals differ. */

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const withoutWidth = /[\p{Mn}\p{Me}\u200b-\u200f\u2060-\u2064\ufeff]/u;
/** Two columns; with them some that only some terminals show as wide. */
const wide =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\p{Script=Yi}\p{Script=Tangut}\p{Script=Nushu}\p{Script=Khitan_Small_Script}\u2329\u232a\u3000-\u303f\u3200-\u33ff\u4dc0-\u4dff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1d300}-\u{1d37f}\u{1f000}-\u{1faff}]/u;
/** Makes an emoji of the character before it. */
const emojiMark = "\ufe0f";
/** Code units that one column takes, as a rule; what takes more is shown the less of. */
const unitsPerColumn = 16;

/** The end of a text, in so many columns, with a mark where something is left out; never half a character. */
export function lastColumns(text: string, columns: number): string {
  // What is longer than that is not measured: it is typed into, key by key.
  const end = text.slice(-unitsPerColumn * Math.max(1, columns));
  const pieces = Array.from(graphemes.segment(end), ({ segment }) => segment);
  // It may have been cut through.
  if (end.length < text.length) pieces.shift();
  else if (columnsOf(text) <= columns) return text;
  let room = columns - 1;
  let first = pieces.length;
  for (; first > 0; first--) {
    room -= columnsOf(pieces[first - 1] ?? "");
    if (room < 0) break;
  }
  return `…${pieces.slice(first).join("")}`;
}

function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) {
    if (character === emojiMark) columns += 1;
    else if (!withoutWidth.test(character)) columns += wide.test(character) ? 2 : 1;
  }
  return columns;
}
