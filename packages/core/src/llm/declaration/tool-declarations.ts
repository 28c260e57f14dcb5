/** How tools are declared to providers: one that would make them refuse every request is mended or left out. */
import type { LanguageModelV3FunctionTool } from "@ai-sdk/provider";
import type { ToolDefinition } from "@coxswain/protocol";
import { headOf, shortened } from "../../shared/cut.ts";
import { wordsOf } from "../../shared/error-words.ts";
import { isRecord } from "../../shared/json.ts";
import { declaredName } from "./declared-name.ts";
import { declaredSchema } from "./declared-schema.ts";

export interface ToolDeclarations {
  /** What is declared, in the order given. */
  declared: LanguageModelV3FunctionTool[];
  /** One line per tool that is left out, or declared otherwise than it was given in a way its owner should know of. */
  problems: string[];
  /** The tool's own name for the name that a model wrote; a name that is not ours comes back as it is. */
  ownName: (declaredName: string) => string;
}

const longestDescription = 8 * 1_024;
const longestShownName = 80;
const mostRemarks = 5;

interface Declaration {
  tool: LanguageModelV3FunctionTool | undefined;
  remarks: readonly string[];
}

export function declareTools(tools: readonly ToolDefinition[]): ToolDeclarations {
  const declared: LanguageModelV3FunctionTool[] = [];
  const problems: string[] = [];
  const ownNames = new Map<string, string>();
  for (const definition of tools) {
    let shownName: unknown;
    try {
      const ownName: unknown = isRecord(definition) ? definition.name : undefined;
      shownName = ownName;
      const { tool, remarks } = declare(definition, ownName, ownNames);
      if (tool !== undefined) declared.push(tool);
      if (remarks.length > 0) problems.push(problem(shownName, remarks));
    } catch (error) {
      // A definition may be an object of any library, whose properties throw when they are read.
      problems.push(problem(shownName, [`left out; it cannot be read: ${shortened(wordsOf(error), 200)}`]));
    }
  }
  return { declared, problems, ownName: (name) => ownNames.get(name) ?? name };
}

function declare(definition: ToolDefinition, ownName: unknown, ownNames: Map<string, string>): Declaration {
  if (typeof ownName !== "string") return leftOut("it has no name");
  const name = declaredName(ownName);
  const holder = ownNames.get(name);
  if (holder === ownName) return leftOut("another tool of that name came first");
  if (holder !== undefined) return leftOut(`${name} already stands for another tool, ${shown(holder)}`);
  ownNames.set(name, ownName);
  const parameters = declaredSchema(definition.parameters);
  if ("refused" in parameters) return leftOut(parameters.refused);
  const given: unknown = definition.description;
  const description = [given, parameters.words].filter((text) => typeof text === "string" && text !== "").join("\n\n");
  const remarks: string[] = [];
  if (name !== ownName) remarks.push(`declared as ${name}, since providers do not take its name`);
  if (description.length > longestDescription)
    remarks.push(`its description is cut to ${longestDescription} characters`);
  return {
    tool: {
      type: "function",
      name,
      description: headOf(description, longestDescription).toWellFormed(),
      inputSchema: parameters.schema,
    },
    remarks: [...remarks, ...parameters.remarks],
  };
}

function leftOut(reason: string): Declaration {
  return { tool: undefined, remarks: [`left out; ${reason}`] };
}

function problem(name: unknown, remarks: readonly string[]): string {
  const more = remarks.length > mostRemarks ? `; and ${remarks.length - mostRemarks} more` : "";
  const tool = typeof name === "string" ? `Tool ${shown(name)}` : "A tool";
  return `${tool}: ${remarks.slice(0, mostRemarks).join("; ")}${more}.`;
}

function shown(name: string): string {
  return JSON.stringify(shortened(name, longestShownName).toWellFormed());
}
