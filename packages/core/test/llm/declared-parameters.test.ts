import { describe, expect, it } from "vitest";
import { declareTools } from "../../src/llm/declaration/tool-declarations.ts";
import { anyArray, anything, declare, property, toolOf } from "./support/declared.ts";

describe("parameters", () => {
  it("of the usual kind stay as they are, and nothing is told", () => {
    const usual = {
      type: "object",
      description: "Where to look.",
      properties: {
        path: { type: "string", description: "A path.", minLength: 1, pattern: "^[a-z/]+$" },
        kind: { type: "string", enum: ["file", "directory"], default: "file" },
        since: { type: "string", format: "date-time" },
        limit: { type: ["integer", "null"], minimum: 1, maximum: 100 },
        tags: { type: "array", items: { type: "string" }, minItems: 1, uniqueItems: true },
        range: { type: "object", properties: { from: { type: "number" } }, required: ["from"] },
        id: { anyOf: [{ type: "string" }, { type: "integer" }] },
      },
      required: ["path"],
    };
    expect(declare(usual)).toEqual({ schema: usual, description: "Does it.", problems: [] });
  });

  it("that are absent or say nothing are an empty object", () => {
    for (const nothing of [undefined, null, true, {}, { type: "object" }, { type: ["object", "null"] }]) {
      expect(declare(nothing)).toMatchObject({ schema: { type: "object", properties: {} }, problems: [] });
    }
  });

  it("that can be no object leave the tool out, and the others stay", () => {
    const cannot = [false, "x", 7, [], { type: "string" }, { anyOf: [{ type: "string" }] }, { allOf: [false] }];
    for (const parameters of cannot) {
      const { declared, problems } = declareTools([toolOf(parameters), toolOf({}, "other")]);
      expect(declared.map(({ name }) => name)).toEqual(["other"]);
      expect(problems).toEqual([expect.stringMatching(/^Tool "tool": left out; its parameters /)]);
    }
  });

  it("that throw when they are read leave the tool out", () => {
    const hostile = {
      get properties() {
        throw new Error("not now");
      },
    };
    const { declared, problems } = declareTools([toolOf(hostile), toolOf({}, "other")]);
    expect(declared.map(({ name }) => name)).toEqual(["other"]);
    expect(problems).toEqual(['Tool "tool": left out; it cannot be read: not now.']);
  });

  it("lose what no provider knows", () => {
    const { schema, problems } = declare({
      $schema: "http://json-schema.org/draft-07/schema#",
      $id: "x",
      type: "object",
      properties: { a: { type: "string", $comment: "x", contentEncoding: "base64", readOnly: true } },
      additionalProperties: false,
      unevaluatedProperties: false,
      dependentSchemas: { a: { required: ["b"] } },
      propertyNames: { maxLength: 1 },
      enum: [{}],
      not: {},
      minProperties: -1,
    });
    expect(schema).toEqual({ type: "object", properties: { a: { type: "string" } } });
    expect(problems).toEqual([]);
  });

  it("whose alternatives are objects are merged into one", () => {
    const { schema, description, problems } = declare({
      type: "object",
      properties: { id: { type: "string" } },
      required: ["id"],
      oneOf: [
        { properties: { kind: { const: "a" }, size: { type: "number" } }, required: ["kind", "size"] },
        { properties: { kind: { const: "b" }, size: { type: "string" } }, required: ["kind"] },
        { type: "null" },
      ],
    });
    expect(schema).toEqual({
      type: "object",
      properties: {
        id: { type: "string" },
        kind: { type: "string", enum: ["a", "b"] },
        size: { anyOf: [{ type: "number" }, { type: "string" }] },
      },
      required: ["id", "kind"],
    });
    expect(description).toBe("Does it.\n\nNeeds one of: size; none of these.");
    expect(problems).toEqual(['Tool "tool": alternatives in its parameters are merged into one object.']);
  });

  it("of which one set is needed say so", () => {
    const { schema, description } = declare({
      type: "object",
      properties: { url: { type: "string" }, path: { type: "string" }, line: { type: "integer" } },
      anyOf: [{ required: ["url"] }, { required: ["path", "line"] }],
    });
    expect(schema).not.toHaveProperty("required");
    expect(Object.keys(schema?.properties ?? {})).toEqual(["url", "path", "line"]);
    expect(description).toContain("Needs one of: url; path with line.");
  });

  it("that all must hold are joined", () => {
    const { schema, problems } = declare({
      allOf: [
        { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
        { properties: { a: { type: "integer", minimum: 1 }, b: { type: "string" } }, required: ["b"] },
      ],
    });
    expect(schema).toEqual({
      type: "object",
      properties: { a: { type: "integer", minimum: 1 }, b: { type: "string" } },
      required: ["a", "b"],
    });
    expect(problems).toEqual([]);
  });

  it("that must be sent and are not described are declared as anything", () => {
    expect(declare({ type: "object", required: ["a", 7, "toString"] }).schema).toEqual({
      type: "object",
      properties: { a: anything, toString: anything },
      required: ["a", "toString"],
    });
  });

  it("named like parts of every object stay, but for the one that no parser lets through", () => {
    const { schema, problems } = declare(
      JSON.parse(
        '{"properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}},"required":["__proto__","constructor"]}',
      ),
    );
    expect(schema).toEqual({
      type: "object",
      properties: { constructor: { type: "string" } },
      required: ["constructor"],
    });
    expect(problems).toEqual(['Tool "tool": a property named __proto__ is not declared.']);
  });

  it("with names that not every provider takes are declared in words", () => {
    const { schema, description, problems } = declare({
      type: "object",
      properties: { "filter[name]": { type: "string" }, sort: { type: "string" } },
      required: ["filter[name]"],
    });
    expect(schema).toEqual({ type: "object", properties: { sort: { type: "string" } } });
    expect(description).toBe('Does it.\n\nAlso needs "filter[name]", of this schema: {"type":"string"}.');
    expect(problems).toEqual([expect.stringContaining('property "filter[name]" is declared in words')]);
  });
});

describe("a property", () => {
  it("of any value names every type", () => {
    for (const schema of [{}, true, null, "x", 7, []]) expect(property(schema)).toEqual(anything);
    expect(property({ description: "What you like." })).toEqual({ description: "What you like.", ...anything });
  });

  it("that nothing fits is left out, also of what must be sent", () => {
    const { schema } = declare({ properties: { a: false, b: { type: "string" } }, required: ["a", "b"] });
    expect(schema).toEqual({ type: "object", properties: { b: { type: "string" } }, required: ["b"] });
  });

  it("that says no type gets the one it speaks of", () => {
    expect(property({ properties: { x: { type: "null" } } })).toMatchObject({ type: "object" });
    expect(property({ items: { type: "string" } })).toEqual({ type: "array", items: { type: "string" } });
    expect(property({ minLength: 1 })).toEqual({ type: "string", minLength: 1 });
    expect(property({ maximum: 1 })).toEqual({ type: "number", maximum: 1 });
  });

  it("of several types has each by itself, and one that may be null says it in its type", () => {
    expect(property({ type: ["string", "array"], items: { type: "number" }, minLength: 1 })).toEqual({
      anyOf: [
        { type: "string", minLength: 1 },
        { type: "array", items: { type: "number" } },
      ],
    });
    expect(property({ type: "string", nullable: true })).toEqual({ type: ["string", "null"] });
    expect(property({ type: ["null", "array"] })).toEqual({ ...anyArray, type: ["array", "null"] });
    expect(property({ type: "strnig" })).toEqual(anything);
  });

  it("that is an array always has items", () => {
    for (const items of [undefined, true, false, {}, null]) {
      expect(property({ type: "array", items })).toMatchObject({ type: "array", items: { anyOf: expect.anything() } });
    }
    const inOrder = [{ type: "number" }, { type: "string" }];
    const mended = {
      type: "array",
      items: { anyOf: inOrder },
      description: `In this order: ${JSON.stringify(inOrder)}.`,
    };
    expect(property({ type: "array", items: inOrder })).toEqual(mended);
    expect(property({ type: "array", prefixItems: inOrder, items: false })).toEqual(mended);
  });

  it("with fixed values lists those that are text, and says the others", () => {
    expect(property({ enum: ["a", "b", "a"] })).toEqual({ type: "string", enum: ["a", "b"] });
    expect(property({ const: "a" })).toEqual({ type: "string", enum: ["a"] });
    expect(property({ type: "integer", enum: [1, 2] })).toEqual({ type: "integer", description: "One of: 1, 2." });
    expect(property({ enum: [1, 2.5] })).toEqual({ type: "number", description: "One of: 1, 2.5." });
    expect(property({ const: true, description: "Yes." })).toEqual({
      type: "boolean",
      description: "Yes. One of: true.",
    });
    expect(property({ type: "integer", enum: ["1"] })).toEqual({ type: "string", enum: ["1"] });
    expect(property({ type: "string", enum: ["a", ""] })).toEqual({
      type: "string",
      enum: ["a"],
      description: "May also be empty.",
    });
    expect(property({ enum: ["a", 1, null, { x: 1 }] })).toEqual({
      anyOf: [
        { type: "string", enum: ["a"] },
        { type: "integer", description: "One of: 1." },
        { type: "object", description: 'One of: {"x":1}.' },
        { type: "null" },
      ],
    });
    expect(property({ type: "string", enum: [] })).toEqual({ type: "string" });
    expect(property({ enum: [Number.NaN, undefined] })).toEqual(anything);
  });

  it("that is a map says so in words", () => {
    expect(property({ type: "object", additionalProperties: { type: "string" } })).toEqual({
      type: "object",
      description: 'Takes any further names, each with a value of this schema: {"type":"string"}.',
    });
    expect(property({ patternProperties: { "^x-": { type: "number" } } })).toEqual({
      type: "object",
      description: 'Takes names that match "^x-", each with a value of this schema: {"type":"number"}.',
    });
    expect(property({ type: "object", additionalProperties: true })).toEqual({ type: "object" });
  });

  it("has only limits that are what they should be", () => {
    expect(property({ type: "number", minimum: "0", maximum: Number.NaN, exclusiveMinimum: 1 })).toEqual({
      type: "number",
      exclusiveMinimum: 1,
    });
    expect(property({ type: "number", minimum: 0, exclusiveMinimum: true, multipleOf: 0 })).toEqual({
      type: "number",
      exclusiveMinimum: 0,
    });
    expect(property({ type: "string", minLength: -1, maxLength: 2.5, format: 7, pattern: null })).toEqual({
      type: "string",
    });
  });

  it("with a format or a pattern that not every provider reads has it in words", () => {
    expect(property({ type: "string", format: "uri" })).toEqual({ type: "string", description: "Format: uri." });
    for (const pattern of ["^(?!x)", "\\p{L}", "(?<n>a)", "[", "a{1,100000}", "(a)\\1", "x".repeat(301)]) {
      const mended = property({ type: "string", pattern });
      expect(mended).toEqual({ type: "string", description: expect.stringContaining("Must match ") });
    }
    expect(property({ type: "string", pattern: "^\\d+(?:a|b)$" })).toEqual({
      type: "string",
      pattern: "^\\d+(?:a|b)$",
    });
  });

  it("has its usual value as far as it is plain", () => {
    expect(property({ type: "array", items: { type: "string" }, default: ["a"] })).toEqual({
      type: "array",
      items: { type: "string" },
      description: 'Default: ["a"].',
    });
    for (const usual of [null, undefined, Number.NaN]) {
      expect(property({ type: "string", default: usual, examples: [] })).not.toHaveProperty("default");
    }
  });

  it("with alternatives has nothing of a schema beside them", () => {
    const object = { type: "object", properties: { x: { type: "string" } } };
    expect(property({ oneOf: [{ type: "string" }, object], description: "Either." })).toEqual({
      description: "Either.",
      anyOf: [{ type: "string" }, object],
    });
    expect(property({ type: "string", anyOf: [{ format: "date-time" }, { minLength: 3 }], maxLength: 9 })).toEqual({
      anyOf: [
        { type: "string", maxLength: 9, format: "date-time" },
        { type: "string", minLength: 3, maxLength: 9 },
      ],
    });
    expect(property({ anyOf: [false, { type: "string" }] })).toEqual({ type: "string" });
  });

  it("that must hold what alternatives do not say is told of", () => {
    const { problems } = declare({
      properties: { p: { anyOf: [{ type: "string" }], oneOf: [{ minLength: 1 }, { maxLength: 2 }] } },
    });
    expect(problems).toEqual([expect.stringContaining("only the first of several lists of alternatives")]);
  });
});
