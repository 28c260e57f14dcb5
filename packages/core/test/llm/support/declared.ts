/** Declares one tool with some parameters, and checks what must always hold. */
import type { ToolDefinition } from "@coxswain/core";
import { expect } from "vitest";
import { declareTools } from "../../../src/llm/declaration/tool-declarations.ts";
import { refusals } from "./refused-tools.ts";

/** Tools come from servers and libraries, whatever their types say. */
export function toolOf(parameters: unknown, name: unknown = "tool", description: unknown = "Does it."): ToolDefinition {
  return { name, description, parameters } as ToolDefinition;
}

export function declare(parameters: unknown) {
  const before = structuredClone(parameters);
  const { declared, problems } = declareTools([toolOf(parameters)]);
  expect(parameters).toEqual(before);
  expect(refusals(declared.map(({ name, inputSchema }) => ({ name, parameters: inputSchema })))).toEqual([]);
  return { schema: declared[0]?.inputSchema, description: declared[0]?.description, problems };
}

/** The mended form of one property, and that mending it is told to nobody. */
export function property(schema: unknown): unknown {
  const { schema: mended, problems } = declare({ type: "object", properties: { p: schema } });
  expect(problems).toEqual([]);
  return mended?.properties?.["p"];
}

const plain = [{ type: "string" }, { type: "number" }, { type: "boolean" }, { type: "object" }];
export const anyArray = { type: "array", items: { anyOf: plain } };
export const anything = { anyOf: [...plain, anyArray] };
