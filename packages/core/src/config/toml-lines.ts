/** Finds the lines of fields in TOML text that has been parsed already; the parser does not tell them. */

const tableHeader = /^\s*(\[\[?)\s*([^\]]+?)\s*\]/;
const keyLine = /^\s*([A-Za-z0-9_."'-]+(?:\s*\.\s*[A-Za-z0-9_"'-]+)*)\s*=\s*(.*)$/;

/** Lines, 1-based, by field: `models[1].base_url`. */
export function indexTomlLines(text: string): Map<string, number> {
  const lines = new Map<string, number>();
  const lengths = new Map<string, number>();
  let table = "";
  let fence: string | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    if (fence !== undefined) {
      if (line.includes(fence)) fence = undefined;
      continue;
    }
    const header = tableHeader.exec(line);
    const key = keyLine.exec(line);
    if (header !== null) {
      table = enterTable(plainName(header[2] ?? ""), header[1] === "[[", lengths);
      remember(lines, table, index + 1);
    } else if (key !== null) {
      const name = plainName(key[1] ?? "");
      remember(lines, table === "" ? name : `${table}.${name}`, index + 1);
      fence = openedFence(key[2] ?? "");
    }
  }
  return lines;
}

function remember(lines: Map<string, number>, field: string, line: number): void {
  if (!lines.has(field)) lines.set(field, line);
}

function plainName(name: string): string {
  return name.replace(/["'\s]/g, "");
}

/** The name of the table with the index of each list of tables that it is in. */
function enterTable(name: string, isListEntry: boolean, lengths: Map<string, number>): string {
  let path = "";
  const parts = name.split(".");
  for (const [position, part] of parts.entries()) {
    path = path === "" ? part : `${path}.${part}`;
    if (isListEntry && position === parts.length - 1) lengths.set(path, (lengths.get(path) ?? 0) + 1);
    const length = lengths.get(path);
    if (length !== undefined) path = `${path}[${length - 1}]`;
  }
  return path;
}

/** The quotes of a text that goes on in the next line. */
function openedFence(value: string): string | undefined {
  for (const fence of ['"""', "'''"]) {
    if (value.startsWith(fence) && !value.includes(fence, fence.length)) return fence;
  }
  return undefined;
}

/** The line of the field, or of what it is in. */
export function lineOfField(lines: ReadonlyMap<string, number>, field: string): number | undefined {
  for (let path = field; path !== ""; path = parentOf(path)) {
    const line = lines.get(path);
    if (line !== undefined) return line;
  }
  return undefined;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("."), path.lastIndexOf("["), 0));
}
