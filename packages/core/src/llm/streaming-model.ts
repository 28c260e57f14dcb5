/** A model that streams, whole: what it does not stream it collects. */
import type {
  LanguageModelV3,
  LanguageModelV3Content,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
} from "@ai-sdk/provider";

export type StreamingModel = Pick<LanguageModelV3, "provider" | "modelId" | "supportedUrls" | "doStream">;

export function streamingModel({ provider, modelId, supportedUrls, doStream }: StreamingModel): LanguageModelV3 {
  return {
    specificationVersion: "v3",
    provider,
    modelId,
    supportedUrls,
    doStream,
    doGenerate: async (options) => collectParts((await doStream(options)).stream),
  };
}

/** Rejects with the first error that the stream carries. */
async function collectParts(stream: ReadableStream<LanguageModelV3StreamPart>): Promise<LanguageModelV3GenerateResult> {
  const content: LanguageModelV3Content[] = [];
  const blocks = new Map<string, Extract<LanguageModelV3Content, { type: "text" | "reasoning" }>>();
  let finish: Extract<LanguageModelV3StreamPart, { type: "finish" }> | undefined;
  for await (const part of stream) {
    if (part.type === "error") throw part.error;
    if (part.type === "finish") finish = part;
    if (part.type === "tool-call") content.push(part);
    if (part.type === "text-start" || part.type === "reasoning-start") {
      const block = { type: part.type === "text-start" ? ("text" as const) : ("reasoning" as const), text: "" };
      blocks.set(part.id, block);
      content.push(block);
    }
    const block = "id" in part && part.id !== undefined ? blocks.get(part.id) : undefined;
    if (block === undefined) continue;
    if (part.type === "text-delta" || part.type === "reasoning-delta") block.text += part.delta;
    if (part.type === "reasoning-end" && part.providerMetadata) block.providerMetadata = part.providerMetadata;
  }
  if (finish === undefined) throw new Error("the model's stream closed without a finish part");
  return { content, finishReason: finish.finishReason, usage: finish.usage, warnings: [] };
}
