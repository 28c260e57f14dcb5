/** Takes typed fields out of a parsed file; whatever does not fit is a `ConfigError` that names its place. */
import { isRecord } from "../shared/json.ts";
import { ConfigError, type ConfigErrorCode, nearestName, showValue } from "./config-error.ts";

export interface ConfigSource {
  file: string;
  /** Where a field such as `models[1].base_url` stands, 1-based, or the nearest thing around it. */
  lineOf(field: string): number | undefined;
}

export class ConfigTable {
  readonly #source: ConfigSource;
  readonly #path: string;
  readonly #values: Readonly<Record<string, unknown>>;

  /** @param known Names of all fields; any other is an error. */
  constructor(source: ConfigSource, path: string, value: unknown, known: readonly string[]) {
    this.#source = source;
    this.#path = path;
    if (!isTable(value)) throw this.#error("invalid_value", path, value, "a table of fields");
    this.#values = value;
    for (const name of Object.keys(value)) {
      if (known.includes(name)) continue;
      const nearest = nearestName(name, known);
      const field = this.field(name);
      throw new ConfigError(
        "unknown_field",
        `${field} is not a known field; ${nearest === undefined ? `known are ${known.join(", ")}` : `did you mean ${nearest}?`}`,
        { file: source.file, line: source.lineOf(field) },
      );
    }
  }

  /** The full name of a field, for messages. */
  field(name: string): string {
    return this.#path === "" ? name : `${this.#path}.${name}`;
  }

  #get(name: string): unknown {
    const value = Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
    // A YAML field with nothing after its colon.
    return value === null ? undefined : value;
  }

  /** An error about this field, for checks that go beyond its type. */
  wrong(name: string, expected: string, code: ConfigErrorCode = "invalid_value"): ConfigError {
    return this.#error(code, this.field(name), this.#get(name), expected);
  }

  #error(code: ConfigErrorCode, field: string, value: unknown, expected: string): ConfigError {
    const { file } = this.#source;
    const shown = /(?:^|\.)api_key$/.test(field) ? "something else" : showValue(value);
    const subject = field === "" ? "the file" : field;
    const problem =
      value === undefined || value === null
        ? `${subject} is missing; it must be ${expected}`
        : `${subject} is ${shown}, but must be ${expected}`;
    return new ConfigError(code, problem, { file, line: field === "" ? 1 : this.#source.lineOf(field) });
  }

  text(name: string): string | undefined {
    const value = this.#get(name);
    if (value === undefined || typeof value === "string") return value;
    throw this.wrong(name, "a text in quotes");
  }

  requiredText(name: string): string {
    const value = this.text(name);
    if (value !== undefined && value.trim() !== "") return value.trim();
    throw this.wrong(
      name,
      "a text in quotes that is not empty",
      value === undefined ? "missing_value" : "invalid_value",
    );
  }

  /** A whole number from `min` on. */
  count(name: string, min: number, max: number = Number.MAX_SAFE_INTEGER): number | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} on` : `from ${min} to ${max}`;
    throw this.wrong(name, min === Number.MIN_SAFE_INTEGER ? "a whole number" : `a whole number ${range}`);
  }

  /** Any number from 0 on. */
  amount(name: string): number | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
    throw this.wrong(name, "a number from 0 on");
  }

  flag(name: string): boolean | undefined {
    const value = this.#get(name);
    if (value === undefined || typeof value === "boolean") return value;
    throw this.wrong(name, "true or false");
  }

  choice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    throw this.wrong(name, `one of ${choices.map((choice) => `"${choice}"`).join(", ")}`);
  }

  texts(name: string): string[] | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.every((one) => typeof one === "string" && one.trim() !== "")) return value;
    throw this.wrong(name, "a list of texts, none of them empty");
  }

  table(name: string, known: readonly string[]): ConfigTable | undefined {
    const value = this.#get(name);
    return value === undefined ? undefined : new ConfigTable(this.#source, this.field(name), value, known);
  }

  tables(name: string, known: readonly string[]): ConfigTable[] {
    const value = this.#get(name);
    if (value === undefined) return [];
    if (!Array.isArray(value)) throw this.wrong(name, `a list of tables, each begun by [[${this.field(name)}]]`);
    return value.map((one, index) => new ConfigTable(this.#source, `${this.field(name)}[${index}]`, one, known));
  }

  /** How many entries a list has that is not looked into. */
  size(name: string): number {
    const value = this.#get(name);
    if (value === undefined) return 0;
    return Array.isArray(value) ? value.length : 1;
  }
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && !(value instanceof Date);
}
