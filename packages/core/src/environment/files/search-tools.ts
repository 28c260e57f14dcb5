import { stat } from "node:fs/promises";
import { normalize, resolve } from "node:path";
import { environmentDefaults } from "../defaults.ts";
import { defineTool } from "../define-tool.ts";
import type { Tool, ToolContext } from "../tool.ts";
import { servicesOf } from "../tool-context.ts";
import { ToolError } from "../tool-error.ts";
import type { FileGuard } from "./file-guard.ts";
import { fileError } from "./file-error.ts";
import { isInside } from "../../shared/is-inside.ts";
import { runSearchJob } from "./search-job.ts";
import { wordsOf } from "../../shared/error-words.ts";
import { toExpression } from "./search-pattern.ts";

interface ListFilesArguments {
  path?: string;
  glob?: string;
  description?: string;
}

interface SearchFilesArguments extends ListFilesArguments {
  pattern: string;
  limit?: number;
}

const maxListed = 1000;
const defaultMatches = 100;
const maxMatches = 1000;

const whereProperties = {
  path: { type: "string", description: "Absolute, or relative to the Workspace. Default: the Workspace." },
  glob: {
    type: "string",
    description: "Only files that match, such as `*.ts` (in every directory) or `src/**/*.ts`. Relative to `path`.",
  },
  description: { type: "string", description: "One sentence for the person watching: what this looks for." },
};

export const listFilesTool: Tool = defineTool<ListFilesArguments>({
  name: "list_files",
  description: `Lists what is in a directory and below, nearest first, at most ${maxListed}. Heeds .gitignore; follows no links.`,
  parameters: { type: "object", properties: whereProperties, additionalProperties: false },
  permission: "r",
  timeoutMs: environmentDefaults.fileToolTimeoutMs,
  execute: async (args, context) => {
    const { files } = servicesOf(context);
    const root = await searchRoot(files, args.path, "directory");
    return runSearchJob({ guard: files.options, root, glob: args.glob, limit: maxListed }, context.signal);
  },
});

export const searchFilesTool: Tool = defineTool<SearchFilesArguments>({
  name: "search_files",
  description:
    "Searches the lines of text files for a regular expression (JavaScript). Heeds .gitignore; follows no links. " +
    "Gives `file:line: text` for each line that matches.",
  parameters: {
    type: "object",
    properties: {
      pattern: { type: "string", minLength: 1, description: "The regular expression; case counts." },
      ...whereProperties,
      limit: {
        type: "integer",
        minimum: 1,
        maximum: maxMatches,
        description: `Lines at most. Default ${defaultMatches}.`,
      },
    },
    required: ["pattern"],
    additionalProperties: false,
  },
  permission: "r",
  timeoutMs: environmentDefaults.fileToolTimeoutMs,
  execute: (args, context) => search(args, context),
});

async function search(args: SearchFilesArguments, context: ToolContext): Promise<string> {
  const { files } = servicesOf(context);
  try {
    toExpression(args.pattern);
  } catch (error) {
    throw new ToolError(`\`pattern\` is no regular expression: ${wordsOf(error)}`);
  }
  const root = await searchRoot(files, args.path, "any");
  const limit = args.limit ?? defaultMatches;
  return runSearchJob({ guard: files.options, root, glob: args.glob, pattern: args.pattern, limit }, context.signal);
}

/** Real path of where to look. A link within the Workspace does not lead out of it. */
async function searchRoot(guard: FileGuard, path: string | undefined, kind: "directory" | "any"): Promise<string> {
  const name = path ?? ".";
  const root = guard.resolve(name);
  const written = normalize(guard.absolute(name));
  if (isInside(resolve(guard.options.workspaceDir), written) && !isInside(guard.workspaceDir, root)) {
    throw new ToolError(`${name} leads out of the Workspace: give the path that it leads to.`);
  }
  const entry = await stat(root).catch((error: unknown) => {
    throw fileError(name, error);
  });
  if (entry.isDirectory() || (kind === "any" && entry.isFile())) return root;
  throw new ToolError(`${name} is not a directory: give the one that holds it.`);
}
