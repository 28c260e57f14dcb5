/** The summary of a compaction: how a model hands it over, and how it opens the next context. */
import { escapeMarkers, markerBlock, readMarkerContent } from "./grammar.ts";

export function contextSummaryText(summary: string): string {
  return markerBlock("context_summary", escapeMarkers(summary));
}

/** The summary without blanks around it; `undefined` when the text is no such block. */
export function readContextSummary(text: string): string | undefined {
  return readMarkerContent("context_summary", text)?.trim();
}

/**
 * The usable summary in a model's reply, trimmed; `undefined` when there is none.
 *
 * Several blocks are joined, so that a summary in parts stays whole. A block that is not closed reaches to the end of
 * the reply: it was cut, and most of a summary is better than none. A reply without a block is taken whole.
 */
export function extractSummary(reply: string): string | undefined {
  const blocks = summaryBlocks(reply, "[summary]", "[/summary]") ?? summaryBlocks(reply, "<summary>", "</summary>");
  const summary =
    blocks === undefined
      ? (readContextSummary(reply) ?? reply.trim())
      : blocks
          .map((block) => block.trim())
          .filter((block) => block !== "")
          .join("\n\n");
  return summary === "" ? undefined : summary;
}

interface Tag {
  at: number;
  opens: boolean;
}

/** Contents of the outermost blocks, in order; `undefined` when nothing opens one. */
function summaryBlocks(reply: string, opening: string, closing: string): string[] | undefined {
  const tags = findTags(reply, opening, closing);
  const blocks: { start: number; end: number }[] = [];
  let depth = 0;
  for (const tag of tags) {
    const newest = blocks.at(-1);
    if (tag.opens) {
      if (depth === 0) blocks.push({ start: tag.at + opening.length, end: reply.length });
      depth += 1;
    } else if (newest !== undefined) {
      // Also a closing tag too many belongs to the block before it: the summary speaks of the tag itself.
      depth = Math.max(0, depth - 1);
      newest.end = depth === 0 ? tag.at : newest.end;
    }
  }
  const last = blocks.at(-1);
  if (last === undefined) return undefined;
  const lastTag = tags.at(-1);
  // An opening tag too many leaves the block open although the reply ends in its closing tag.
  if (depth > 0 && lastTag?.opens === false && reply.slice(lastTag.at + closing.length).trim() === "") {
    last.end = lastTag.at;
  }
  return blocks.map((block) => reply.slice(block.start, block.end));
}

function findTags(reply: string, opening: string, closing: string): Tag[] {
  const tags: Tag[] = [];
  for (let at = reply.indexOf(opening); at !== -1; at = reply.indexOf(opening, at + 1)) {
    if (!isDisclosureTitle(reply, at)) tags.push({ at, opens: true });
  }
  for (let at = reply.indexOf(closing); at !== -1; at = reply.indexOf(closing, at + 1)) tags.push({ at, opens: false });
  return tags.sort((a, b) => a.at - b.at);
}

/** HTML has a `<summary>` of its own, inside `<details>`; in a summary that quotes some it is content. */
function isDisclosureTitle(reply: string, at: number): boolean {
  return /<details[^<>]*>\s*$/i.test(reply.slice(Math.max(0, at - 80), at));
}
