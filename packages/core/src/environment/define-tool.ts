import type { JSONSchema7, ToolPermission } from "@coxswain/protocol";
import type { Preview } from "../engine/ports.ts";
import { checkLimits } from "./check-limits.ts";
import type { Tool, ToolContext } from "./tool.ts";
import { readToolSchema, type StandardSchema } from "./tool-schema.ts";

export interface ToolSpecification<Parameters, Args> {
  /** `[A-Za-z0-9_-]{1,64}`. */
  name: string;
  description: string;
  /** A Standard Schema that can give its JSON Schema (zod 4, for one), or a JSON Schema. Describes an object. */
  parameters: Parameters;
  /** `r`: changes nothing. `rw`: may change something. */
  permission: ToolPermission;
  /** Milliseconds of one call. Default: the Environment's. */
  timeoutMs?: number | undefined;
  /** Characters that the model gets at most. Default: the Environment's. */
  maxOutputLength?: number | undefined;
  /** The JSON Schema for the model, when the library of `parameters` cannot give it. */
  jsonSchema?: JSONSchema7 | undefined;
  /** What a person sees before he decides. */
  preview?(args: Args, context: ToolContext): Preview | undefined | Promise<Preview | undefined>;
  /**
   * Returns a string, `{ output, images?, note?, stopReason? }` or any JSON value; or is an async generator of text, whose
   * joined text is the output unless it returns one. A throw makes the call `failed`. Must settle promptly after
   * `context.signal`; the Environment waits no longer than a moment.
   */
  execute(args: Args, context: ToolContext): unknown;
}

type OutputOf<Schema> = Schema extends StandardSchema<infer Output> ? Output : never;

/**
 * Makes a tool. Arguments are checked before `preview` and `execute`; for a Standard Schema they get its output.
 * @throws TypeError for a name that providers refuse, parameters without a JSON Schema of an object, or a field that is none.
 */
export function defineTool<Schema extends StandardSchema>(
  specification: ToolSpecification<Schema, OutputOf<Schema>>,
): Tool;
export function defineTool<Args = Record<string, unknown>>(specification: ToolSpecification<JSONSchema7, Args>): Tool;
export function defineTool<Args>(specification: ToolSpecification<unknown, Args>): Tool {
  const { name, description, permission, timeoutMs, maxOutputLength } = specification;
  if (typeof name !== "string" || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw new TypeError(
      `Tool name ${JSON.stringify(name)} does not do: use 1 to 64 letters, digits, "_" and "-", which every provider takes.`,
    );
  }
  if (permission !== "r" && permission !== "rw") {
    throw new TypeError(`Tool "${name}": \`permission\` must be "r" or "rw", not ${JSON.stringify(permission)}.`);
  }
  if (typeof description !== "string") {
    throw new TypeError(`Tool "${name}": \`description\` must be a text for the model, not ${showValue(description)}.`);
  }
  // Taken now: what is changed in the specification later is not this tool's.
  const execute = methodOf(specification, "execute", "(args, context) => output");
  const hasPreview = specification.preview !== undefined;
  const preview = hasPreview ? methodOf(specification, "preview", "(args, context) => { summary }") : undefined;
  checkLimits(`Tool "${name}"`, { timeoutMs, maxOutputLength });
  const schema = readToolSchema(name, specification.parameters, specification.jsonSchema);
  const tool: Tool = {
    definition: { name, description, parameters: schema.parameters, permission },
    timeoutMs,
    maxOutputLength,
    validate: (args) => schema.validate(args),
    execute,
  };
  if (preview !== undefined) {
    tool.preview = async (args, context) => preview(args, context) as Preview | undefined;
  }
  return tool;
}

function showValue(value: unknown): string {
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** As it is now, and still a method of its specification. */
function methodOf<Args>(
  specification: ToolSpecification<unknown, Args>,
  field: "execute" | "preview",
  shape: string,
): (args: unknown, context: ToolContext) => unknown {
  const method: unknown = Reflect.get(specification, field);
  if (typeof method !== "function") {
    const tool = `Tool "${specification.name}"`;
    throw new TypeError(`${tool}: \`${field}\` must be a function ${shape}, not ${showValue(method)}.`);
  }
  return (args, context) => Reflect.apply(method, specification, [args, context]);
}
