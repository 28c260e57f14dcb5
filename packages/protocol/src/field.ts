/** The checks that a payload's fields are made of: a test, and the words that say what would be right. */
export interface Check {
  readonly test: (value: unknown) => boolean;
  /** Completes "must be …". */
  readonly expected: string;
  /** Of a container that fails: which part of it does. */
  readonly inside?: (value: unknown) => Problem | undefined;
  /** The value that goes without saying, because it alone passes. */
  readonly only?: string;
  /** Of a container: a copy without what stands for nothing. */
  readonly mend?: (value: unknown) => unknown;
}

export interface Problem {
  /** From the checked value on, such as `.name` or `[2].name`. */
  readonly path: string;
  readonly check: Check;
  readonly value: unknown;
}

export interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly check: Check;
}

export type Fields = readonly Field[];

export function fields(
  required: Readonly<Record<string, Check>>,
  optional: Readonly<Record<string, Check>> = {},
): Fields {
  return [...entries(required, true), ...entries(optional, false)];
}

function entries(checks: Readonly<Record<string, Check>>, required: boolean): Field[] {
  return Object.entries(checks).map(([name, check]) => ({ name, required, check }));
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const text: Check = { test: (value) => typeof value === "string", expected: "a string" };

export const count: Check = {
  test: (value) => typeof value === "number" && Number.isFinite(value),
  expected: "a finite number",
};

export const object: Check = { test: isObject, expected: "an object" };

export const texts: Check = arrayOf(text, "strings");

export const textOrNull: Check = {
  test: (value) => value === null || typeof value === "string",
  expected: "a string or null",
};

export function oneOf(...values: string[]): Check {
  const allowed = new Set<unknown>(values);
  return {
    test: (value) => allowed.has(value),
    expected: values.length === 1 ? `"${values[0]}"` : `one of ${values.map((value) => `"${value}"`).join(", ")}`,
    ...(values.length === 1 && values[0] !== undefined && { only: values[0] }),
  };
}

export function arrayOf(item: Check, plural: string): Check {
  return {
    test: (value) => Array.isArray(value) && firstWrong(value, item) === -1,
    expected: `an array of ${plural}`,
    inside: (value) => {
      if (!Array.isArray(value)) return undefined;
      const index = firstWrong(value, item);
      return innermost({ path: `[${index}]`, check: item, value: value[index] });
    },
    mend: (value) => (Array.isArray(value) && item.mend !== undefined ? value.map(item.mend) : value),
  };
}

/** Unlike `every`, it also sees the holes of a sparse array. */
function firstWrong(array: readonly unknown[], item: Check): number {
  return array.findIndex((element) => !item.test(element));
}

/** An object with these fields; others are let through. */
export function record(itsFields: Fields, expected: string): Check {
  return {
    test: (value) => isObject(value) && firstProblem(value, itsFields) === undefined,
    expected,
    inside: (value) => {
      const field = isObject(value) ? firstProblem(value, itsFields) : undefined;
      return field && isObject(value) ? problemIn(value, field) : undefined;
    },
    mend: (value) => (isObject(value) ? mended(value, itsFields) : value),
  };
}

/** Where exactly the field is wrong. */
export function problemIn(value: Readonly<Record<string, unknown>>, field: Field): Problem {
  return innermost({ path: `.${field.name}`, check: field.check, value: value[field.name] });
}

function innermost(problem: Problem): Problem {
  const inner = problem.value === undefined ? undefined : problem.check.inside?.(problem.value);
  return inner === undefined ? problem : { ...inner, path: problem.path + inner.path };
}

/** The first field that is missing or wrong. An optional field that is `undefined` counts as absent. */
export function firstProblem(value: Readonly<Record<string, unknown>>, itsFields: Fields): Field | undefined {
  for (const field of itsFields) {
    const content = value[field.name];
    if (content === undefined ? field.required : !field.check.test(content)) return field;
  }
  return undefined;
}

/** A copy in which an optional field that is `null` is absent, and a field that can hold but one word holds it. */
export function mended(value: Readonly<Record<string, unknown>>, itsFields: Fields): Record<string, unknown> {
  const known = new Map(itsFields.map((field) => [field.name, field]));
  const kept = Object.entries(value).flatMap(([name, content]): [string, unknown][] => {
    const field = known.get(name);
    if (field === undefined) return [[name, content]];
    if (content === null && !field.check.test(null)) return [];
    return [[name, field.check.mend?.(content) ?? content]];
  });
  const held = new Set(kept.map(([name]) => name));
  for (const { name, required, check } of itsFields) {
    if (required && check.only !== undefined && !held.has(name)) kept.push([name, check.only]);
  }
  return Object.fromEntries(kept);
}
