import { describe, expect, expectTypeOf, test } from "vitest";
import { defineTool } from "../../src/environment/define-tool.ts";
import type { StandardSchema } from "../../src/environment/tool-schema.ts";
import { createWorld, run } from "./support.ts";

const base = { name: "count", description: "Counts.", permission: "r" } as const;
const jsonSchema = { type: "object", properties: { upTo: { type: "number" } }, required: ["upTo"] };

/** As libraries of Standard Schema make them: takes numbers as text too. */
function standardSchema(more: object = {}): StandardSchema<{ upTo: number }> {
  return {
    "~standard": {
      version: 1,
      vendor: "example",
      validate: async (value) => {
        const upTo = Number(Reflect.get(Object(value), "upTo"));
        if (Number.isNaN(upTo)) return { issues: [{ message: "expected a number", path: [{ key: "upTo" }] }] };
        return { value: { upTo } };
      },
      ...more,
    },
  };
}

describe("a Standard Schema", () => {
  const withSchema = {
    jsonSchema: { input: () => ({ $schema: "http://json-schema.org/draft-07/schema#", ...jsonSchema }) },
  };

  test("gives the type of the arguments, their JSON Schema, and what it makes of them", async () => {
    const tool = defineTool({
      ...base,
      parameters: standardSchema(withSchema),
      execute: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ upTo: number }>();
        return args.upTo + 1;
      },
    });
    expect(tool.definition).toEqual({ ...base, parameters: jsonSchema });
    const { environment } = await createWorld({ tools: [tool] });
    expect((await run(environment, "count", { upTo: "3" })).output).toBe("4");
    const bad = await run(environment, "count", {});
    expect(bad).toMatchObject({ status: "failed", output: expect.stringContaining("upTo: expected a number") });
    expect(bad.output).toContain("upTo (number, required)");
  });

  test("whose library knows only another draft, or has a method of its own, does too", () => {
    const picky = {
      jsonSchema: {
        input: ({ target }: { target: string }) => {
          if (target !== "draft-2020-12") throw new Error("unknown target");
          return jsonSchema;
        },
      },
    };
    const own = { ...standardSchema(), toJSONSchema: () => jsonSchema };
    for (const parameters of [standardSchema(picky), own]) {
      expect(defineTool({ ...base, parameters, execute: () => "" }).definition.parameters).toEqual(jsonSchema);
    }
  });

  test("without a JSON Schema is an error that names the library, unless one is given", () => {
    expect(() => defineTool({ ...base, parameters: standardSchema(), execute: () => "" })).toThrow(
      /"example" gives no JSON Schema/,
    );
    const tool = defineTool({ ...base, parameters: standardSchema(), jsonSchema, execute: () => "" });
    expect(tool.definition.parameters).toEqual(jsonSchema);
  });
});

test.each(["", "a b", "a.b", "é", "x".repeat(65)])("the name %j is refused", (name) => {
  expect(() => defineTool({ ...base, name, parameters: jsonSchema, execute: () => "" })).toThrow(/1 to 64 letters/);
});

test("parameters that describe no object, and limits of no size, are refused", () => {
  expect(() => defineTool({ ...base, parameters: { type: "array" }, execute: () => "" })).toThrow(
    /must describe an object/,
  );
  expect(() => defineTool({ ...base, parameters: jsonSchema, timeoutMs: 0, execute: () => "" })).toThrow(/timeoutMs/);
});

test("a JSON Schema without a type describes an object", () => {
  expect(defineTool({ ...base, parameters: {}, execute: () => "" }).definition.parameters).toEqual({
    type: "object",
    properties: {},
  });
});

test("a mismatch deep within names the whole way to it", async () => {
  const tool = defineTool({
    ...base,
    parameters: {
      type: "object",
      properties: { list: { type: "array", items: { type: "object", properties: { mode: { enum: ["on", "off"] } } } } },
    },
    execute: () => "",
  });
  const { environment } = await createWorld({ tools: [tool] });
  const { output } = await run(environment, "count", { list: [{ mode: "on" }, { mode: "maybe" }] });
  expect(output).toContain('list.1.mode: does not match any of ["on","off"].');
});

test("a tool gets its Workspace, its call and a signal, and previews by itself", async () => {
  const tool = defineTool<{ a?: string }>({
    ...base,
    parameters: { type: "object", properties: { a: { type: "string" } } },
    execute: (args, context) => [args.a, context.workspaceDir, context.toolCallId, context.signal.aborted],
  });
  const { environment, workspaceDir } = await createWorld({ tools: [tool] });
  const ran = await run(environment, "count", { a: "b" });
  expect(JSON.parse(ran.output)).toEqual(["b", workspaceDir, ran.payload.tool_call_id, false]);
});

describe("a specification", () => {
  const whole = { ...base, parameters: jsonSchema, execute: () => "one" };
  const define = (more: object) => (): unknown => defineTool({ ...whole, ...more } as typeof whole);

  test("with a field that is none is refused, and it is said which, and what it may be", () => {
    const needed = 'Tool "count": `execute` must be a function (args, context) => output, not ';
    expect(define({ execute: undefined })).toThrow(new TypeError(`${needed}undefined.`));
    expect(define({ execute: {} })).toThrow(new TypeError(`${needed}an object.`));
    expect(define({ preview: null })).toThrow("`preview` must be a function (args, context) => { summary }, not null.");
    expect(define({ description: 5 })).toThrow("`description` must be a text for the model, not 5.");
  });

  test("that is changed later changes nothing, and its methods know it", async () => {
    const specification = {
      ...whole,
      step: 1,
      execute(): string {
        return `step ${this.step}`;
      },
    };
    const tool = defineTool(specification);
    specification.execute = () => "changed";
    const { environment } = await createWorld({ tools: [tool] });
    expect((await run(environment, "count", { upTo: 1 })).output).toBe("step 1");
  });
});
