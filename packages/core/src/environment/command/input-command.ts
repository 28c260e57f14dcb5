import { shortened } from "../../shared/cut.ts";
import { environmentDefaults } from "../defaults.ts";
import { defineTool } from "../define-tool.ts";
import type { Tool, ToolContext, ToolResult } from "../tool.ts";
import { servicesOf } from "../tool-context.ts";
import { ToolError } from "../tool-error.ts";
import type { Command } from "./command.ts";
import { lookAt } from "./look-at.ts";
import { inputYieldTime, yieldTimeMs } from "./yield-time.ts";

interface InputCommandArguments {
  process_id: string;
  chars?: string;
  yield_time_ms?: number;
  description?: string;
}

const interruptCharacter = "\u0003";
const endCharacter = "\u0004";
const maxShownInput = 300;
const keys = new RegExp(`([${interruptCharacter}${endCharacter}])`);

const description =
  "Looks at a command that runs in the background, and types into it if `chars` is given. Gives what it has printed since the " +
  "last look and, once it has ended, how. Waits until `yield_time_ms` is over or the command ends.";

const parameters = {
  type: "object",
  properties: {
    process_id: { type: "string", description: "What exec_command gave." },
    chars: {
      type: "string",
      description:
        "What to type, with \\n where Enter is to be pressed; needs a command started with `stdin: true`. " +
        "\\u0003 is Ctrl-C and always works; \\u0004 ends the input for good. Leave it out to look only.",
    },
    yield_time_ms: {
      type: "number",
      description:
        `How long to wait, in milliseconds, at most ${inputYieldTime.most}; 0 looks only. ` +
        `Default ${inputYieldTime.usualAfterTyping} after typing, else ${inputYieldTime.usual}.`,
    },
    description: { type: "string", description: "One sentence for the person watching: what this is for." },
  },
  required: ["process_id"],
  additionalProperties: false,
};

export const inputCommandTool: Tool = defineTool<InputCommandArguments>({
  name: "input_command",
  description,
  parameters,
  permission: "rw",
  timeoutMs: environmentDefaults.inputCommandTimeoutMs,
  preview: (args, context) => {
    const { commands, files } = servicesOf(context);
    const { text, workdir } = commands.background.find(args.process_id);
    const typed = JSON.stringify(files.masked(args.chars ?? ""));
    const doing = hasChars(args) ? `Type ${shortened(typed, maxShownInput)} into` : "Look at";
    const summary = `${doing} the command ${args.process_id}.`;
    return {
      summary: args.description === undefined ? summary : `${args.description} ${summary}`,
      command: text,
      workdir,
    };
  },
  execute,
});

async function* execute(args: InputCommandArguments, context: ToolContext): AsyncGenerator<string, ToolResult> {
  const command = servicesOf(context).commands.background.find(args.process_id);
  const types = hasChars(args);
  const typed = types && command.exit === undefined;
  if (typed) await type(command, args.chars);
  const usual = types ? inputYieldTime.usualAfterTyping : inputYieldTime.usual;
  const result = yield* lookAt(command, context, yieldTimeMs(args.yield_time_ms ?? usual, inputYieldTime));
  if (types && !typed) return withNote(result, "[nothing was typed: the command had ended]");
  const problem = typed ? command.process.input?.problem : undefined;
  return problem === undefined ? result : withNote(result, `[not all that was typed has arrived: ${problem}]`);
}

function hasChars(args: InputCommandArguments): args is InputCommandArguments & { chars: string } {
  return args.chars !== undefined && args.chars !== "";
}

function withNote(result: ToolResult, note: string): ToolResult {
  return { ...result, note: `${note}\n${result.note ?? ""}`, stopReason: "failed" };
}

/** @throws ToolError when it cannot be typed; then nothing of it was. */
async function type(command: Command, chars: string): Promise<void> {
  const { input } = command.process;
  const text = chars.replaceAll(interruptCharacter, "");
  if (text !== "") {
    if (input === undefined) {
      throw new ToolError(
        `The command ${command.id} was started without \`stdin: true\`: its standard input is closed, and of \`chars\` it only takes ` +
          "\\u0003 (Ctrl-C). End it with kill_command and start it again with `stdin: true`.",
      );
    }
    input.check(text);
    const end = text.indexOf(endCharacter);
    if (end >= 0 && end < text.length - 1) {
      throw new ToolError("`chars` goes on after \\u0004, which ends the input for good: leave out what follows it.");
    }
  }
  for (const piece of chars.split(keys)) {
    if (piece === interruptCharacter) await command.process.interrupt();
    else if (piece === endCharacter) input?.end();
    else if (piece !== "") input?.write(piece);
  }
}
