/** A unified diff for a person and for the model. */

/** It is made in one go, during which nothing else happens. */
const timeoutMs = 25;
const maxEditLength = 2000;
const maxLines = 20_000;

/** The library is loaded when the first diff is made. */
export async function fileDiff(path: string, before: string, after: string): Promise<string> {
  if (lineCount(before) + lineCount(after) > maxLines) return tooLarge(path, before, after);
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import("diff");
  const patch = createTwoFilesPatch(path, path, before, after, undefined, undefined, {
    context: 3,
    timeout: timeoutMs,
    maxEditLength,
    headerOptions: FILE_HEADERS_ONLY,
  });
  return patch ?? tooLarge(path, before, after);
}

function tooLarge(path: string, before: string, after: string): string {
  return `[the change of ${path} is too large for a diff: ${lineCount(before)} lines before, ${lineCount(after)} after]\n`;
}

function lineCount(text: string): number {
  return text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}
