/** What reaches the model, noted in front of it: proof that is taken neither from the screen nor from the Trace. */
import { engineDefaults, type LanguageModel } from "@coxswain/core";

type Prompt = Parameters<LanguageModel["doStream"]>[0]["prompt"];

export class Arrivals {
  requests = 0;
  /** Requests that tell the model of a failed attempt. */
  retries = 0;
  steers = 0;
  /** Requests that carry over what an interrupt cut. */
  carryOvers = 0;
  /** Contexts that began with a summary. */
  summaries = 0;

  /** @returns Of what is new in the request, all that no person has typed and no tool of this turn has said. */
  add(prompt: Prompt): string[] {
    const { texts, outputs } = newIn(prompt);
    const isCut = outputs.some((output) => output.includes(engineDefaults.interruptedPlaceholder));
    const marked = (tag: string): string[] => texts.filter((text) => text.startsWith(`[${tag}]`));
    const [retried, steering, summaries] = [marked("turn_retried"), marked("user_steering"), marked("context_summary")];
    this.requests += 1;
    this.retries += retried.length;
    this.steers += steering.length;
    this.carryOvers += isCut ? 1 : 0;
    this.summaries += summaries.length;
    return [...(isCut ? outputs : []), ...summaries, ...retried, ...steering];
  }
}

export interface ArrivalOptions {
  modelId: string;
  onRequest: (prompt: Prompt) => Promise<void>;
}

/** The same model, but each request is told of before the model gets it. */
export function withArrivals(model: LanguageModel, { modelId, onRequest }: ArrivalOptions): LanguageModel {
  return {
    ...model,
    modelId,
    doStream: async (options) => {
      await onRequest(options.prompt);
      return model.doStream(options);
    },
  };
}

/** What the model has not answered yet. */
function newIn(prompt: Prompt): { texts: string[]; outputs: string[] } {
  const [texts, outputs]: [string[], string[]] = [[], []];
  for (const message of prompt.slice(prompt.findLastIndex(({ role }) => role === "assistant") + 1)) {
    if (message.role === "user") {
      texts.push(...message.content.flatMap((part) => (part.type === "text" ? part.text : [])));
    } else if (message.role === "tool") {
      outputs.push(
        ...message.content.flatMap((part) =>
          part.type === "tool-result" ? `output of ${part.toolName}\n${textOf(part.output)}` : [],
        ),
      );
    }
  }
  return { texts, outputs };
}

function textOf(output: { type: string; value?: unknown }): string {
  return typeof output.value === "string" ? output.value : JSON.stringify(output.value ?? output.type);
}
