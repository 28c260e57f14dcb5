/** The whole answer of a model that streams: what `doGenerate` of our own models gives. */
import type {
  LanguageModelV3Content,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
} from "@ai-sdk/provider";

/** Rejects with the first error that the stream carries. */
export async function collectParts(
  stream: ReadableStream<LanguageModelV3StreamPart>,
): Promise<LanguageModelV3GenerateResult> {
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
