/** Where things stand in a TOML text, so that one of them can be changed and everything else stays as it was written. */
import type { TomlDocument } from "@decimalturn/toml-patch";

type Node = TomlDocument["cst"][number];
type KeyValueNode = Extract<Node, { equals: number }>;
type Position = Node["loc"]["start"];

/** Offsets into the text, the end excluded. */
export interface Span {
  start: number;
  end: number;
}

export interface TomlField extends Span {
  path: readonly string[];
  value: Span;
  /** Of a table in braces. */
  inner: readonly TomlField[];
}

/** What stands below a `[header]`, up to its last field. */
export interface TomlBlock extends Span {
  path: readonly string[];
  isListEntry: boolean;
  fields: readonly TomlField[];
}

export interface Splice extends Span {
  text: string;
}

export class TomlLayout {
  readonly text: string;
  readonly newline: string;
  /** Fields above the first header. */
  readonly top: readonly TomlField[];
  readonly blocks: readonly TomlBlock[];
  readonly #lineStarts: number[] = [0];

  /** @param nodes What the parser made of the text. */
  constructor(text: string, nodes: readonly Node[]) {
    this.text = text;
    this.newline = /\r?\n/.exec(text)?.[0] ?? "\n";
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) this.#lineStarts.push(at + 1);
    this.top = nodes.flatMap((node) => ("equals" in node ? [this.#field(node)] : []));
    this.blocks = nodes.flatMap((node) => this.#block(node) ?? []);
  }

  #block(node: Node): TomlBlock | undefined {
    if (!("items" in node)) return undefined;
    const start = this.#offset(node.key.loc.start);
    const fields = node.items.flatMap((item) => ("equals" in item ? [this.#field(item)] : []));
    const end = fields.at(-1)?.end ?? this.#offset(node.key.loc.end);
    return { path: node.key.item.value, isListEntry: this.text.startsWith("[[", start), fields, start, end };
  }

  #field(node: KeyValueNode): TomlField {
    const { value } = node;
    const items = "items" in value ? value.items : [];
    return {
      ...this.#span(node),
      path: node.key.value,
      value: this.#span(value),
      inner: items.flatMap(({ item }) => (isKeyValue(item) ? [this.#field(item)] : [])),
    };
  }

  #span({ loc }: { loc: { start: Position; end: Position } }): Span {
    return { start: this.#offset(loc.start), end: this.#offset(loc.end) };
  }

  #offset({ line, column }: Position): number {
    return (this.#lineStarts[line - 1] ?? this.text.length) + column;
  }

  lineStart(offset: number): number {
    return this.text.lastIndexOf("\n", offset - 1) + 1;
  }

  /** Behind the end of the line. */
  lineEnd(offset: number): number {
    const at = this.text.indexOf("\n", offset);
    return at === -1 ? this.text.length : at + 1;
  }

  /** The spaces that the line begins with. */
  indentation(offset: number): string {
    return /^[ \t]*/.exec(this.text.slice(this.lineStart(offset)))?.[0] ?? "";
  }

  /** Behind the block and the comments that go on from its last line, but not those that lead to what follows. */
  blockEnd(block: TomlBlock): number {
    const end = this.lineEnd(block.end);
    const behind = this.#behindComments(end);
    return behind === this.text.length || this.#isBlankAt(behind) ? behind : end;
  }

  /** The block with the comments that stand directly above it, and the blank lines that it leaves behind. */
  wholeBlock(block: TomlBlock): Span {
    let start = this.lineStart(block.start);
    let above = start;
    while (above > 0 && this.#isCommentAt(this.lineStart(above - 1))) above = this.lineStart(above - 1);
    // What a file begins with is about the file.
    if (above > 0) start = above;
    let end = this.blockEnd(block);
    while (end < this.text.length && this.#isBlankAt(end)) end = this.lineEnd(end);
    if (end === this.text.length) {
      while (start > 0 && this.#isBlankAt(this.lineStart(start - 1))) start = this.lineStart(start - 1);
    }
    return { start, end };
  }

  /** The whole lines of a field, and a blank one that would stand alone after it. */
  wholeField(field: TomlField): Span {
    const start = this.lineStart(field.start);
    let end = this.lineEnd(field.end);
    const standsAlone = start === 0 || this.#isBlankAt(this.lineStart(start - 1));
    while (standsAlone && end < this.text.length && this.#isBlankAt(end)) end = this.lineEnd(end);
    return { start, end };
  }

  /** Behind the comment that the file begins with, if it stands by itself. */
  behindOpeningComment(): number {
    const behind = this.#behindComments(0);
    return behind > 0 && behind < this.text.length && this.#isBlankAt(behind) ? this.lineEnd(behind) : 0;
  }

  spliced(splices: readonly Splice[]): string {
    let text = "";
    let at = 0;
    for (const splice of [...splices].sort((a, b) => a.start - b.start)) {
      text += this.text.slice(at, splice.start) + splice.text;
      at = splice.end;
    }
    return text + this.text.slice(at);
  }

  #behindComments(offset: number): number {
    let at = offset;
    while (at < this.text.length && this.#isCommentAt(at)) at = this.lineEnd(at);
    return at;
  }

  #isCommentAt(lineStart: number): boolean {
    return this.text.slice(lineStart, this.lineEnd(lineStart)).trimStart().startsWith("#");
  }

  #isBlankAt(lineStart: number): boolean {
    return this.text.slice(lineStart, this.lineEnd(lineStart)).trim() === "";
  }
}

function isKeyValue(node: object): node is KeyValueNode {
  return "equals" in node;
}

/** A value as TOML writes it. */
export function tomlLiteral(value: string | number | boolean): string {
  // TOML takes the escapes of JSON, and wants one more.
  return typeof value === "string" ? JSON.stringify(value).replaceAll("\x7f", "\\u007f") : String(value);
}
