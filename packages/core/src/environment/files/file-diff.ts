/** A unified diff for a person and for the model. */

const timeoutMs = 500;
const maxEditLength = 5000;

/** The library is loaded when the first diff is made. */
export async function fileDiff(path: string, before: string, after: string): Promise<string> {
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import("diff");
  const patch = createTwoFilesPatch(path, path, before, after, undefined, undefined, {
    context: 3,
    timeout: timeoutMs,
    maxEditLength,
    headerOptions: FILE_HEADERS_ONLY,
  });
  if (patch !== undefined) return patch;
  return `[the change of ${path} is too large for a diff: ${lineCount(before)} lines before, ${lineCount(after)} after]\n`;
}

function lineCount(text: string): number {
  return text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}
