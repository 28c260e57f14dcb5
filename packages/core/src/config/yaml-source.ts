/** Parses YAML as plain data: no tags, a bounded number of aliases, one document. */
import type { CST, Document, LineCounter, Parser } from "yaml";
import { ConfigError } from "./config-error.ts";
import { wordsOf } from "../shared/error-words.ts";
import type { ConfigSource } from "./config-table.ts";

const maxAliasCount = 100;
/** The parser recurses: what is nested much deeper can end the whole process. */
const maxDepth = 64;

/** @throws ConfigError with line and column */
export async function parseYaml(path: string, text: string): Promise<{ values: unknown; source: ConfigSource }> {
  const yaml = await import("yaml");
  const lines = new yaml.LineCounter();
  try {
    assertShallow(path, new yaml.Parser(), text);
    const document = yaml.parseDocument(text, { lineCounter: lines, version: "1.2", logLevel: "error" });
    const error = document.errors[0];
    if (error !== undefined) throw syntaxError(path, error.message, lines, error.pos[0]);
    yaml.visit(document, {
      Node: (_key, node) => {
        if (!("tag" in node) || node.tag === undefined) return;
        throw syntaxError(
          path,
          `the tag ${node.tag} is not supported; write plain values`,
          lines,
          node.range?.[0] ?? 0,
        );
      },
    });
    const values: unknown = document.toJS({ maxAliasCount });
    return { values: values ?? {}, source: sourceOf(path, document, lines) };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const tooDeep = error instanceof RangeError;
    const reason = tooDeep ? "it is nested too deeply" : wordsOf(error);
    throw new ConfigError("syntax", `cannot be read as YAML: ${reason}`, { file: path, cause: error });
  }
}

/** Looks at the tokens, which are made without recursion. */
function assertShallow(path: string, parser: Parser, text: string): void {
  for (const token of parser.parse(text)) {
    const open: { token: CST.Token; depth: number }[] = [{ token, depth: 0 }];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const depth = next.depth + 1;
      if (depth > maxDepth) throw new ConfigError("syntax", "no valid YAML: it is nested too deeply", { file: path });
      for (const child of childrenOf(next.token)) open.push({ token: child, depth });
    }
  }
}

function childrenOf(token: CST.Token): CST.Token[] {
  if (token.type === "document") return token.value === undefined ? [] : [token.value];
  if (!("items" in token)) return [];
  return token.items.flatMap(({ key, value }) => [key, value]).filter((child) => child !== undefined && child !== null);
}

function syntaxError(path: string, words: string, lines: LineCounter, offset: number): ConfigError {
  const { line, col } = lines.linePos(offset);
  // The words of the parser repeat the place and show an excerpt in further lines.
  const problem = (words.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, "");
  return new ConfigError("syntax", `no valid YAML: ${problem}`, { file: path, line, column: col });
}

function sourceOf(path: string, document: Document, lines: LineCounter): ConfigSource {
  return {
    file: path,
    lineOf: (field) => {
      for (let names = field.split("."); names.length > 0; names = names.slice(0, -1)) {
        const offset = keyOffset(document, names);
        if (offset !== undefined) return lines.linePos(offset).line;
      }
      return undefined;
    },
  };
}

/** Where the key stands: a value can begin in a later line. */
function keyOffset(document: Document, names: string[]): number | undefined {
  const parent: unknown = names.length === 1 ? document.contents : document.getIn(names.slice(0, -1), true);
  if (typeof parent !== "object" || parent === null || !("items" in parent) || !Array.isArray(parent.items)) return;
  for (const pair of parent.items as { key?: { value?: unknown; range?: [number, number, number] | null } }[]) {
    if (pair.key?.value === names.at(-1)) return pair.key?.range?.[0];
  }
  return undefined;
}
