/** A `LanguageModelV3` that plays given stream parts, well-behaved or not, and remembers its calls. */
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  LanguageModelV3StreamResult,
} from "@ai-sdk/provider";

/** A part, or something to wait for before the next one. */
export type ScriptedPart = LanguageModelV3StreamPart | Promise<unknown>;

export type ScriptedModelStep =
  | { parts: readonly ScriptedPart[]; end?: ScriptedEnd | undefined }
  /** `doStream` rejects with it. */
  | { rejects: unknown }
  /** `doStream` throws it instead of returning a promise. */
  | { throws: unknown }
  /** `doStream` never settles, whatever its signal says. */
  | { deaf: true };

/** After the last part: the stream closes (default), fails, or stays open and ignores its signal. */
export type ScriptedEnd = "close" | "deaf" | { error: unknown };

export interface ScriptedLanguageModel extends LanguageModelV3 {
  /** What `doStream` was given, in order. The prompt arrays are the caller's own. */
  readonly calls: readonly LanguageModelV3CallOptions[];
  /** How many of its streams were cancelled. */
  readonly cancelled: number;
}

/**
 * One step for each request; a request too many rejects.
 * @param options.modelId Default `scripted`.
 * @param options.provider Default `scripted.model`; one that ends in `.chat` has its calls held to the end.
 */
export function scriptedLanguageModel(
  steps: readonly ScriptedModelStep[],
  options: { provider?: string | undefined; modelId?: string | undefined } = {},
): ScriptedLanguageModel {
  const calls: LanguageModelV3CallOptions[] = [];
  let cancelled = 0;
  const play = (call: LanguageModelV3CallOptions): PromiseLike<LanguageModelV3StreamResult> => {
    const step = steps[calls.length];
    calls.push(call);
    if (step === undefined) return Promise.reject(new Error(`the script has no step for request ${calls.length}`));
    if ("throws" in step) throw step.throws;
    if ("rejects" in step) return Promise.reject(step.rejects);
    if ("deaf" in step) return new Promise(() => undefined);
    const stream = streamOf(step.parts, step.end ?? "close", () => {
      cancelled += 1;
    });
    return Promise.resolve({ stream });
  };
  return {
    specificationVersion: "v3",
    provider: options.provider ?? "scripted.model",
    modelId: options.modelId ?? "scripted",
    supportedUrls: {},
    calls,
    get cancelled() {
      return cancelled;
    },
    doStream: play,
    doGenerate: () => Promise.reject(new Error("the scripted model streams only")),
  };
}

function streamOf(
  parts: readonly ScriptedPart[],
  end: ScriptedEnd,
  onCancel: () => void,
): ReadableStream<LanguageModelV3StreamPart> {
  let index = 0;
  return new ReadableStream<LanguageModelV3StreamPart>(
    {
      async pull(controller) {
        while (index < parts.length) {
          const part = parts[index] as ScriptedPart;
          index += 1;
          if (part instanceof Promise) await part;
          else return controller.enqueue(part);
        }
        if (end === "deaf") return new Promise<void>(() => undefined);
        if (end === "close") controller.close();
        else controller.error(end.error);
        return;
      },
      cancel: onCancel,
    },
    { highWaterMark: 0 },
  );
}
