import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { declareTools } from "../../src/llm/declaration/tool-declarations.ts";
import { anything, declare, toolOf } from "./support/declared.ts";
import { refusals } from "./support/refused-tools.ts";

describe("a reference", () => {
  it("within the schema is followed, with what stands beside it", () => {
    const { schema, problems } = declare({
      $ref: "#/definitions/In~1put",
      definitions: {
        "In/put": {
          type: "object",
          properties: { p: { $ref: "#/$defs/a%20b", description: "Mine." } },
          required: ["p"],
        },
      },
      $defs: { "a b": { type: "string", description: "Its own." } },
    });
    expect(schema).toEqual({
      type: "object",
      properties: { p: { type: "string", description: "Mine. Its own." } },
      required: ["p"],
    });
    expect(problems).toEqual([]);
  });

  it("that leads nowhere is anything, with its description, and told", () => {
    for (const $ref of ["#/$defs/none", "https://example.com/schema", "#/__proto__", "#/properties/constructor", "%"]) {
      const { schema, problems } = declare({ properties: { p: { $ref, description: "Mine." } } });
      expect(schema?.properties?.["p"]).toEqual({ description: "Mine.", ...anything });
      expect(problems).toEqual([`Tool "tool": its reference ${JSON.stringify($ref)} cannot be followed.`]);
    }
  });

  it("to what it stands in is followed once, and told", () => {
    const { schema, problems } = declare({
      properties: { tree: { $ref: "#/$defs/node" } },
      $defs: {
        node: {
          type: "object",
          properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
        },
      },
    });
    expect(schema?.properties?.["tree"]).toEqual({
      type: "object",
      properties: { name: { type: "string" }, children: { type: "array", items: { type: "object" } } },
    });
    expect(problems).toEqual(['Tool "tool": what is part of itself in its parameters is declared once.']);
    const itself = declare({ type: "object", properties: { p: { $ref: "#" }, q: { $ref: "#/properties/q" } } });
    expect(itself.schema?.properties).toEqual({ p: { type: "object" }, q: anything });
    expect(itself.problems).toHaveLength(1);
  });

  it("that multiplies what it leads to makes the whole less deep until it is small enough", () => {
    const names = Array.from({ length: 12 }, (_, index) => `t${index}`);
    const properties = Object.fromEntries(names.map((name) => [name, { $ref: `#/$defs/${name}` }]));
    const $defs = Object.fromEntries(names.map((name) => [name, { type: "object", properties }]));
    const { schema, problems } = declare({ $ref: "#/$defs/t0", $defs });
    expect(JSON.stringify(schema).length).toBeLessThan(64 * 1_024);
    expect(Object.keys(schema?.properties ?? {})).toEqual(names);
    expect(problems[0]).toContain("levels deep");
  });
});

describe("a schema without measure", () => {
  it("is declared only some levels deep", () => {
    let object: unknown = { type: "string" };
    let all: unknown = { type: "object", properties: { p: { type: "string" } } };
    let union: unknown = { type: "string" };
    for (let level = 0; level < 10_000; level += 1) {
      object = { type: "object", properties: { p: object } };
      all = { allOf: [all] };
      union = { anyOf: [union] };
    }
    for (const parameters of [object, all, union, { properties: { p: union } }, { properties: { p: all } }]) {
      const { declared, problems } = declareTools([toolOf(parameters), toolOf({}, "other")]);
      expect(refusals(declared.map(({ name, inputSchema }) => ({ name, parameters: inputSchema })))).toEqual([]);
      expect(declared.at(-1)?.name).toBe("other");
      expect(JSON.stringify(declared).length).toBeLessThan(10_000);
      expect(problems.length).toBeLessThan(2);
    }
    expect(declareTools([toolOf(object)]).problems).toEqual([expect.stringContaining("10 levels deep")]);
  });

  it("that is part of itself as an object is declared once", () => {
    const cyclic: Record<string, unknown> = { type: "object", required: ["b"], default: undefined, examples: [] };
    cyclic["properties"] = { a: cyclic, b: { type: "array", items: cyclic, default: cyclic }, c: { enum: [cyclic] } };
    cyclic["allOf"] = [cyclic];
    cyclic["examples"] = [cyclic];
    const { declared, problems } = declareTools([toolOf(cyclic)]);
    expect(declared[0]?.inputSchema).toMatchObject({ properties: { a: { type: "object" }, b: { type: "array" } } });
    expect(problems).toHaveLength(1);
    expect(JSON.stringify(declared).length).toBeLessThan(10_000);
  });

  it("of more than 64 KiB is left out, and the others stay", () => {
    const many = (length: number, schema: (index: number) => unknown) =>
      Object.fromEntries(Array.from({ length }, (_, index) => [`p${index}`, schema(index)]));
    const huge = [
      { properties: many(20_000, () => ({ type: "string", description: "x".repeat(70) })) },
      { properties: { p: { enum: Array.from({ length: 100_000 }, (_, index) => `value ${index}`) } } },
      { anyOf: Array.from({ length: 20_000 }, (_, index) => ({ properties: { [`p${index}`]: {} } })) },
      { required: Array.from({ length: 20_000 }, (_, index) => `p${index}`) },
      { properties: many(20, () => ({ type: "string", description: "x".repeat(100_000) })) },
    ];
    for (const parameters of huge) {
      const { declared, problems } = declareTools([toolOf(parameters), toolOf({}, "other")]);
      expect(declared.map(({ name }) => name)).toEqual(["other"]);
      expect(problems).toEqual(['Tool "tool": left out; its parameters are more than 64 KiB of JSON.']);
    }
  });

  it("with halves of surrogate pairs is made well-formed", () => {
    const lone = "x\ud83d";
    const { declared } = declareTools([
      toolOf({
        properties: { p: { enum: [lone], description: lone }, q: { properties: { [lone]: { title: lone } } } },
      }),
    ]);
    expect(JSON.stringify(declared)).not.toMatch(/\\ud83d/i);
    expect(JSON.stringify(declared)).toContain("x\ufffd");
  });
});

describe("whatever a schema is", () => {
  const keywords =
    "type properties required items prefixItems anyOf oneOf allOf enum const $ref additionalProperties " +
    "patternProperties not format pattern default minimum minLength exclusiveMinimum nullable description " +
    "title $defs examples __proto__ constructor a";
  const words = "string object array null integer a __proto__ # #/$defs/a #/properties/a \ud83d";
  const keyword = fc.constantFrom(...keywords.split(" "));
  const word = fc.constantFrom("", ...words.split(" "));
  const { anyJson } = fc.letrec<{ anyJson: unknown }>((tie) => ({
    anyJson: fc.oneof(
      { maxDepth: 6, depthSize: "large" },
      word,
      fc.oneof(fc.boolean(), fc.integer(), fc.double(), fc.constant(null), fc.constant(undefined)),
      fc.array(tie("anyJson"), { maxLength: 4 }),
      { arbitrary: fc.array(fc.tuple(keyword, tie("anyJson")), { maxLength: 5 }).map(Object.fromEntries), weight: 6 },
    ),
  }));

  it("no provider refuses what is declared, the input stays, and each tool is declared or told of", () => {
    fc.assert(
      fc.property(fc.array(anyJson, { maxLength: 3 }), fc.string({ unit: "binary" }), (schemas, name) => {
        const tools = schemas.map((parameters, index) => toolOf(parameters, `${name}${index}`));
        const before = structuredClone(tools);
        const { declared, problems, ownName } = declareTools(tools);
        expect(tools).toEqual(before);
        expect(refusals(declared.map((tool) => ({ name: tool.name, parameters: tool.inputSchema })))).toEqual([]);
        for (const tool of declared) expect(JSON.parse(JSON.stringify(tool))).toEqual(tool);
        const kept = new Set(declared.map((tool) => ownName(tool.name)));
        const leftOut = problems.filter((problem) => problem.includes("left out"));
        expect(kept.size + leftOut.length).toBe(tools.length);
        for (const problem of problems) expect(problem.length).toBeLessThan(2_000);
      }),
      { numRuns: 500 },
    );
  });
});
