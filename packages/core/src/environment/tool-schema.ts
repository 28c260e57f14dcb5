/** The parameters of a tool: the JSON Schema that the model sees, and the check of what it sends. */
import type { Validator } from "@cfworker/json-schema";
import type { JSONSchema7 } from "@coxswain/protocol";
import { wordsOf } from "../shared/error-words.ts";
import { isRecord } from "../shared/json.ts";
import { loadValidator } from "./late-libraries.ts";
import { schemaMismatch } from "./schema-mismatch.ts";

/** The part of Standard Schema (standardschema.dev) that is used here. */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly jsonSchema?: { readonly input: (options: { target: string }) => Record<string, unknown> } | undefined;
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

type ValidationResult = { ok: true; value: unknown } | { ok: false; message: string };

export interface ToolSchema {
  parameters: JSONSchema7;
  validate(args: unknown): Promise<ValidationResult>;
}

/**
 * @param jsonSchema For a Standard Schema whose library cannot give its JSON Schema.
 * @throws TypeError when there is no JSON Schema of an object.
 */
export function readToolSchema(tool: string, parameters: unknown, jsonSchema?: JSONSchema7): ToolSchema {
  if (isStandardSchema(parameters)) {
    const schema = objectSchema(tool, jsonSchema ?? standardJsonSchema(tool, parameters));
    return { parameters: schema, validate: (args) => validateStandard(parameters, args) };
  }
  const schema = objectSchema(tool, parameters);
  return { parameters: schema, validate: validateBy(schema) };
}

function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard: unknown = Reflect.get(value, "~standard");
  return isRecord(standard) && typeof standard.validate === "function";
}

function standardJsonSchema(tool: string, schema: StandardSchema): unknown {
  const converter = schema["~standard"].jsonSchema;
  const attempts: (() => unknown)[] = [];
  if (converter !== undefined) {
    attempts.push(
      () => converter.input({ target: "draft-07" }),
      () => converter.input({ target: "draft-2020-12" }),
    );
  }
  for (const name of ["toJSONSchema", "toJsonSchema"]) {
    const method: unknown = Reflect.get(schema, name);
    if (typeof method === "function") attempts.push(() => Reflect.apply(method, schema, []));
  }
  let reason = "";
  for (const attempt of attempts) {
    try {
      return attempt();
    } catch (error) {
      reason ||= ` (${wordsOf(error)})`;
    }
  }
  throw new TypeError(
    `Tool "${tool}": the schema library "${schema["~standard"].vendor}" gives no JSON Schema${reason}. ` +
      "Use a version with Standard JSON Schema, or give the JSON Schema for the model as `jsonSchema`.",
  );
}

/** A copy that is plain JSON with `type: "object"` at the top. */
function objectSchema(tool: string, schema: unknown): JSONSchema7 {
  if (!isRecord(schema)) {
    throw new TypeError(`Tool "${tool}": \`parameters\` must be a Standard Schema or a JSON Schema object.`);
  }
  const copy = JSON.parse(JSON.stringify(schema)) as JSONSchema7;
  delete copy.$schema;
  copy.type ??= "object";
  if (copy.type !== "object") {
    throw new TypeError(
      `Tool "${tool}": \`parameters\` must describe an object, not ${JSON.stringify(copy.type)}: a model sends arguments by name.`,
    );
  }
  copy.properties ??= {};
  return copy;
}

async function validateStandard(schema: StandardSchema, args: unknown): Promise<ValidationResult> {
  const result = await schema["~standard"].validate(args);
  if (result.issues === undefined) return { ok: true, value: result.value };
  const lines = result.issues.map((issue) => {
    const path = (issue.path ?? []).map((step) => String(typeof step === "object" ? step.key : step)).join(".");
    return path === "" ? issue.message : `${path}: ${issue.message}`;
  });
  return { ok: false, message: lines.join("\n") };
}

function validateBy(schema: JSONSchema7): ToolSchema["validate"] {
  let validator: Validator | undefined;
  return async (args) => {
    validator ??= new (await loadValidator()).Validator(schema, "7", false);
    const result = validator.validate(args);
    if (result.valid) return { ok: true, value: args };
    return { ok: false, message: schemaMismatch(result.errors) };
  };
}
