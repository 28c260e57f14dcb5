/**
 * How our own words are told apart inside a user text: `[tag]…[/tag]`, with every tag of ours in quoted content
 * escaped, so that quoted content can neither end the block nor begin another.
 */
export const markerTags = ["user_steering", "turn_aborted", "turn_retried", "summary", "context_summary"] as const;

export type MarkerTag = (typeof markerTags)[number];

const names = markerTags.join("|");
/** Either bracket form, opening or closing, with the backslashes of earlier escapes. */
const anyTag = new RegExp(`([[<])(\\\\*/?(?:${names})[\\]>])`, "gi");
const escapedTag = new RegExp(`([[<])\\\\(\\\\*/?(?:${names})[\\]>])`, "gi");
const bareTag = new RegExp(`([[<])(/?(?:${names})[\\]>])`, "gi");

/** Puts one backslash behind the bracket of every tag, also of those that have some: `unescapeMarkers` is its inverse. */
export function escapeMarkers(text: string): string {
  return text.replace(anyTag, "$1\\$2");
}

export function unescapeMarkers(text: string): string {
  return text.replace(escapedTag, "$1$2");
}

/** Escapes only tags that are not escaped yet: for content that should be escaped already, but came from elsewhere. */
export function escapeBareMarkers(text: string): string {
  return text.replace(bareTag, "$1\\$2");
}

/** @param body Escaped content. */
export function markerBlock(tag: MarkerTag, body: string): string {
  return `[${tag}]${body}[/${tag}]`;
}

export interface MarkerBlock {
  /** The angle-bracket form is of older writers, who did not escape. */
  form: "square" | "angle";
  /** As it stands in the text. */
  body: string;
}

/** The inside of a text that is one block from its first to its last character, blanks around it aside. */
export function readMarkerBlock(tag: MarkerTag, text: string): MarkerBlock | undefined {
  const trimmed = text.trim();
  const square = between(trimmed, `[${tag}]`, `[/${tag}]`);
  if (square !== undefined) return { form: "square", body: square };
  const angle = between(trimmed, `<${tag}>`, `</${tag}>`);
  return angle === undefined ? undefined : { form: "angle", body: angle };
}

/** The inside as it was before it was put into the block. */
export function readMarkerContent(tag: MarkerTag, text: string): string | undefined {
  const block = readMarkerBlock(tag, text);
  if (block === undefined) return undefined;
  return block.form === "square" ? unescapeMarkers(block.body) : block.body;
}

function between(text: string, opening: string, closing: string): string | undefined {
  if (text.length < opening.length + closing.length || !text.startsWith(opening) || !text.endsWith(closing)) {
    return undefined;
  }
  return text.slice(opening.length, -closing.length);
}
