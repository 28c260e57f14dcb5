/** Changes the models of a `project_config.toml` in its text. What it is given must be readable; what it makes is checked by the caller. */
import type { ModelName } from "./project-config.ts";
import { type Splice, type TomlBlock, type TomlField, TomlLayout, tomlLiteral } from "./toml-layout.ts";

type TomlScalar = string | number | boolean;

/** `null`: taken out. Fields that are absent stay as they are. */
export type ModelFieldValues = Readonly<Record<string, TomlScalar | null | undefined>>;

type TomlPatch = typeof import("@decimalturn/toml-patch");

export class ModelsInToml {
  readonly #library: TomlPatch;
  #text: string;

  private constructor(library: TomlPatch, text: string) {
    this.#library = library;
    this.#text = text;
  }

  /** @param text Without a byte order mark. */
  static async of(text: string): Promise<ModelsInToml> {
    return new ModelsInToml(await import("@decimalturn/toml-patch"), text);
  }

  get text(): string {
    return this.#text;
  }

  /** Behind the models that there are. */
  add(name: ModelName, values: ModelFieldValues): void {
    const fields = stated({ provider: name.provider, model_id: name.modelId, ...values });
    const layout = this.#layout();
    if (hasInlineModels(layout)) return this.#patchList((models) => models.push(Object.fromEntries(fields)));
    const { text, newline } = layout;
    const group = modelGroups(layout).flat();
    const at = group.length === 0 ? text.length : Math.max(...group.map((block) => layout.blockEnd(block)));
    const lines = ["[[models]]", ...fields.map(([field, value]) => `${field} = ${tomlLiteral(value)}`)];
    const before = at === 0 || text.trim() === "" ? "" : newline;
    const after = at === text.length || /^[ \t]*\r?\n/.test(text.slice(at)) ? "" : newline;
    this.#splice(layout, [insertLines(layout, at, before + lines.map((line) => line + newline).join("") + after)]);
  }

  /** @param index Of the model in the file. */
  change(index: number, values: ModelFieldValues): void {
    const layout = this.#layout();
    if (hasInlineModels(layout)) return this.#patchList((models) => assign(models[index], values));
    const block = modelGroups(layout)[index]?.[0];
    if (block === undefined) return;
    const splices: Splice[] = [];
    const added: string[] = [];
    for (const [name, value] of Object.entries(values)) {
      const field = block.fields.find(({ path }) => path.length === 1 && path[0] === name);
      if (value === undefined) continue;
      if (field === undefined) {
        if (value !== null) added.push(`${name} = ${tomlLiteral(value)}`);
      } else if (value === null) splices.push({ ...layout.wholeField(field), text: "" });
      else splices.push({ ...field.value, text: tomlLiteral(value) });
    }
    const indentation = layout.indentation(block.fields.at(-1)?.start ?? block.start);
    const lines = added.map((line) => indentation + line + layout.newline).join("");
    if (lines !== "") splices.push(insertLines(layout, layout.lineEnd(block.end), lines));
    this.#splice(layout, splices);
  }

  /** @param index Of the model in the file. */
  remove(index: number): void {
    const layout = this.#layout();
    if (hasInlineModels(layout)) return this.#patchList((models) => models.splice(index, 1));
    // One after the other, from the end: the blank lines around a block depend on what stands there.
    const blocks = (modelGroups(layout)[index] ?? []).map(({ start }) => start).reverse();
    for (const start of blocks) this.#removeBlock(start);
  }

  setDefault(name: ModelName): void {
    const layout = this.#layout();
    const fields = defaultFields(layout);
    const literals = { provider: tomlLiteral(name.provider), model_id: tomlLiteral(name.modelId) };
    if (fields.provider !== undefined && fields.modelId !== undefined) {
      return this.#splice(layout, [
        { ...fields.provider.value, text: literals.provider },
        { ...fields.modelId.value, text: literals.model_id },
      ]);
    }
    const line = `default_model = { provider = ${literals.provider}, model_id = ${literals.model_id} }${layout.newline}`;
    const last = layout.top.at(-1);
    if (last !== undefined) {
      return this.#splice(layout, [insertLines(layout, layout.lineEnd(last.end), line)]);
    }
    const at = layout.behindOpeningComment();
    const isLast = layout.text.slice(at).trim() === "";
    this.#splice(layout, [insertLines(layout, at, isLast ? line : line + layout.newline)]);
  }

  removeDefault(): void {
    const layout = this.#layout();
    const block = layout.blocks.find(({ path }) => path.length === 1 && path[0] === "default_model");
    if (block !== undefined) return this.#removeBlock(block.start);
    const fields = layout.top.filter(({ path }) => path[0] === "default_model");
    this.#splice(
      layout,
      fields.map((field) => ({ ...layout.wholeField(field), text: "" })),
    );
  }

  #layout(): TomlLayout {
    return new TomlLayout(this.#text, new this.#library.TomlDocument(this.#text).cst);
  }

  #splice(layout: TomlLayout, splices: readonly Splice[]): void {
    this.#text = layout.spliced(splices);
  }

  #removeBlock(start: number): void {
    const layout = this.#layout();
    const block = layout.blocks.find((one) => one.start === start);
    if (block !== undefined) this.#splice(layout, [{ ...layout.wholeBlock(block), text: "" }]);
  }

  /** Models in one list of tables in braces: there the library keeps what is written around them. */
  #patchList(change: (models: Record<string, unknown>[]) => unknown): void {
    const values = this.#library.parse(this.#text) as { models: Record<string, unknown>[] };
    change(values.models);
    this.#text = this.#library.patch(this.#text, values);
  }
}

function hasInlineModels(layout: TomlLayout): boolean {
  return layout.top.some(({ path }) => path[0] === "models");
}

/** Each model's block, with those of its own tables, such as `[models.pricing]`. */
function modelGroups(layout: TomlLayout): TomlBlock[][] {
  const groups: TomlBlock[][] = [];
  for (const block of layout.blocks) {
    if (block.path[0] !== "models") continue;
    if (block.path.length === 1 && block.isListEntry) groups.push([block]);
    else groups.at(-1)?.push(block);
  }
  return groups;
}

/** However it is written: in braces, with dots, or as a table. */
function defaultFields(layout: TomlLayout): { provider?: TomlField | undefined; modelId?: TomlField | undefined } {
  const named = (field: string): TomlField | undefined => {
    const dotted = layout.top.find(({ path }) => path.join(".") === `default_model.${field}`);
    const braces = layout.top.find(({ path }) => path.length === 1 && path[0] === "default_model");
    const block = layout.blocks.find(({ path }) => path.length === 1 && path[0] === "default_model");
    const inside = [...(braces?.inner ?? []), ...(block?.fields ?? [])];
    return dotted ?? inside.find(({ path }) => path.length === 1 && path[0] === field);
  };
  return { provider: named("provider"), modelId: named("model_id") };
}

function stated(values: ModelFieldValues): [string, TomlScalar][] {
  return Object.entries(values).flatMap(([field, value]): [string, TomlScalar][] =>
    value === undefined || value === null ? [] : [[field, value]],
  );
}

function assign(model: Record<string, unknown> | undefined, values: ModelFieldValues): void {
  for (const [field, value] of Object.entries(values)) {
    if (model === undefined || value === undefined) continue;
    if (value === null) delete model[field];
    else model[field] = value;
  }
}

/** The last line of a file may have no end. */
function insertLines({ text, newline }: TomlLayout, at: number, lines: string): Splice {
  const isOpen = at > 0 && text[at - 1] !== "\n";
  return { start: at, end: at, text: isOpen ? newline + lines : lines };
}
