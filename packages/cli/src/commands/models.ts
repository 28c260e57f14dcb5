/** The command line of `cox models`. Each of its commands is loaded when it is called. */
import { type Command, Option } from "commander";
import { addAgentOptions, addProjectOptions } from "../agent-options.ts";
import { CliUsageError } from "../exit-code.ts";
import { count, milliseconds } from "../task-options.ts";
import type { ModelsAddFlags } from "./models-add.ts";
import type { ModelsChangeFlags } from "./models-change.ts";
import type { ModelsListFlags } from "./models-list.ts";
import type { ModelsTestFlags } from "./models-test.ts";

type End = (code: number) => void;

const provider = "as in cox models list, or a known one such as openai";
const modelId = "the model's name at its provider";

export function addModels(program: Command, end: End): void {
  const models = program
    .command("models")
    .description("list the configured models; add, test, choose and remove them")
    .addHelpText("after", "\nWithout a command, the models are listed.");
  addList(models, end);
  addAdd(models, end);
  addTest(models, end);
  addDefault(models, end);
  addRemove(models, end);
}

function addList(models: Command, end: End): void {
  const command = models
    .command("list", { isDefault: true })
    .description("the configured models, and where each value comes from")
    .argument("[command]")
    .option("--json", "one line of JSON for each")
    .action(async (unknown: string | undefined, flags: ModelsListFlags) => {
      if (unknown !== undefined) {
        throw new CliUsageError(
          `${JSON.stringify(unknown)} is no command of cox models; there are list, add, test, default and remove`,
        );
      }
      const { modelsList } = await import("./models-list.ts");
      end(await modelsList(flags));
    });
  addProjectOptions(command);
}

function addAdd(models: Command, end: End): void {
  const command = models
    .command("add")
    .description("add a model, or change the one of that name")
    .argument("<provider>", "openai, anthropic, ollama, …, or a name of your own")
    .argument("<model_id>", modelId)
    .option("--protocol <name>", "what the server speaks; known providers imply it")
    .option("--base-url <url>", "where it is; known providers imply it")
    .addOption(new Option("--context-window <tokens>", "how much fits into a request").argParser(count))
    .addOption(new Option("--max-tokens <tokens>", "how long one answer may be").argParser(count))
    .option("--vision", "it takes images")
    .option("--no-vision", "it takes none")
    .option("--default", "make it the default model")
    .option("--api-key-stdin", "read the key from standard input")
    .addOption(new Option("--api-key [key]").hideHelp())
    .addHelpText(
      "after",
      "\nAt a terminal the key is asked for, unseen, when one is needed and no environment variable holds it.",
    )
    .action(async (providerName: string, id: string, flags: ModelsAddFlags) => {
      const { modelsAdd } = await import("./models-add.ts");
      end(await modelsAdd({ provider: providerName, modelId: id }, flags));
    });
  addProjectOptions(command);
}

function addTest(models: Command, end: End): void {
  const command = models
    .command("test")
    .description("ask a model for a short answer and a tool call; nothing is recorded")
    .argument("[provider]", provider)
    .argument("[model_id]", modelId)
    .addOption(
      new Option("--timeout-ms <n>", "milliseconds for each request (default: as configured)").argParser(milliseconds),
    )
    .option("--json", "one line of JSON for each step")
    .addHelpText("after", "\nWithout a name, the default model is tested.")
    .action(async (providerName: string | undefined, id: string | undefined, flags: ModelsTestFlags) => {
      const { modelsTest } = await import("./models-test.ts");
      end(await modelsTest({ provider: providerName, modelId: id }, flags));
    });
  addAgentOptions(command);
}

function addDefault(models: Command, end: End): void {
  const command = models
    .command("default")
    .description("choose the default model")
    .argument("<provider>", provider)
    .argument("<model_id>", modelId)
    .action(async (providerName: string, id: string, flags: ModelsChangeFlags) => {
      const { modelsDefault } = await import("./models-change.ts");
      end(await modelsDefault({ provider: providerName, modelId: id }, flags));
    });
  addProjectOptions(command);
}

function addRemove(models: Command, end: End): void {
  const command = models
    .command("remove")
    .description("take a model out of the configuration, with its key")
    .argument("<provider>", provider)
    .argument("<model_id>", modelId)
    .action(async (providerName: string, id: string, flags: ModelsChangeFlags) => {
      const { modelsRemove } = await import("./models-change.ts");
      end(await modelsRemove({ provider: providerName, modelId: id }, flags));
    });
  addProjectOptions(command);
}
