/** What a scenario cannot know beforehand: the id that a command in the background is given. */
import type { LanguageModelV3Prompt } from "@ai-sdk/provider";
import type { ScenarioStep } from "./scenario.ts";

const placeholder = "{{PROCESS_ID}}";
/** As the notes of exec_command and input_command tell it. */
const told = /; process_id: ([0-9a-f]{1,32})\]/g;

/** Stays as it is where nothing has told an id: the tool then says that there is no such command. */
export function withProcessId(step: ScenarioStep, prompt: LanguageModelV3Prompt): ScenarioStep {
  if (step.calls?.some((call) => call.arguments.includes(placeholder)) !== true) return step;
  const id = lastProcessId(prompt);
  if (id === undefined) return step;
  const calls = step.calls.map((call) => ({ ...call, arguments: call.arguments.replaceAll(placeholder, id) }));
  return { ...step, calls };
}

function lastProcessId(prompt: LanguageModelV3Prompt): string | undefined {
  const ids = prompt.flatMap((message) => textsOf(message).flatMap((text) => [...text.matchAll(told)]));
  return ids.at(-1)?.[1];
}

/** Of tools, and of what the engine tells in their place when a turn was interrupted. */
function textsOf({ role, content }: LanguageModelV3Prompt[number]): string[] {
  if (role === "user") return content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (role !== "tool") return [];
  return content.flatMap((part) => {
    if (part.type !== "tool-result") return [];
    const { output } = part;
    if (output.type === "content") return output.value.flatMap((item) => (item.type === "text" ? [item.text] : []));
    return output.type === "text" || output.type === "error-text" ? [output.value] : [];
  });
}
