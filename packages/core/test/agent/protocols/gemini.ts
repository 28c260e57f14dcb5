/** Gemini's contents. */
import { event } from "../../llm/support/streams.ts";
import {
  answer,
  declared,
  type Exchange,
  type Facts,
  lastAnswer,
  laterQuestion,
  laterThinking,
  lookArguments,
  lookOutput,
  otherPng,
  png,
  question,
  readArguments,
  readOutput,
  saying,
  systemPrompt,
  thinking,
  thoughts,
} from "./task.ts";

type Part = Record<string, unknown>;

const callSignature = "CiQBy+call/signature==";
const textSignature = "CiQBy+text/signature==";

function chunk(parts: readonly Part[], finishReason?: string): string {
  const usageMetadata = { promptTokenCount: 20, candidatesTokenCount: 5, thoughtsTokenCount: 4, totalTokenCount: 29 };
  const candidate = {
    index: 0,
    content: { role: "model", parts },
    ...(finishReason !== undefined && { finishReason }),
  };
  return event({ candidates: [candidate], modelVersion: "gemini", responseId: "r_1", usageMetadata });
}

function answersWith(ids: readonly [string, string] | undefined): readonly [string, string, string] {
  const call = (index: 0 | 1, name: string, json: string) => ({
    ...(ids !== undefined && { id: ids[index] }),
    name,
    args: JSON.parse(json) as unknown,
  });
  return [
    [
      ...thoughts.map((piece) => chunk([{ text: piece, thought: true }])),
      chunk([{ text: saying.slice(0, 4) }]),
      chunk([{ text: saying.slice(4) }]),
      // Of calls that are made together the first alone is signed.
      chunk([
        { functionCall: call(0, "read_file", readArguments), thoughtSignature: callSignature },
        { functionCall: call(1, "look", lookArguments) },
      ]),
      chunk([{ text: "" }], "STOP"),
    ].join(""),
    [
      chunk([{ text: laterThinking, thought: true }]),
      chunk([{ text: answer }]),
      chunk([{ text: "", thoughtSignature: textSignature }], "STOP"),
    ].join(""),
    chunk([{ text: lastAnswer }], "STOP"),
  ];
}

export function image(data: string): Part {
  return { inlineData: { mimeType: "image/png", data } };
}

export function response(id: string, name: string, content: string, parts?: readonly Part[]): Part {
  return { functionResponse: { id, name, response: { name, content }, ...(parts !== undefined && { parts }) } };
}

/** A whole request. */
export function contentsRequest(thinkingConfig: Record<string, unknown>, contents: readonly unknown[]) {
  return {
    generationConfig: { thinkingConfig: { ...thinkingConfig, includeThoughts: true } },
    systemInstruction: { parts: [{ text: systemPrompt }] },
    contents,
    tools: [
      {
        functionDeclarations: declared({ plainNumbers: true }).map(({ name, description, schema }) => ({
          name,
          description,
          parameters: schema,
        })),
      },
    ],
  };
}

interface Generation {
  modelId: string;
  thinkingConfig: Record<string, unknown>;
  ids: readonly [string, string] | undefined;
  /** How the output of the second tool comes back. */
  lookParts: (id: string) => readonly Part[];
}

function exchange({ modelId, thinkingConfig, ids, lookParts }: Generation): Exchange {
  const request = (contents: readonly unknown[]) => contentsRequest(thinkingConfig, contents);
  return {
    provider: "google",
    modelId,
    protocol: "gemini",
    answers: answersWith(ids),
    expected({ callIds: [readId, lookId] }: Facts) {
      const first = [
        { role: "user", parts: [{ text: question }, image(png)] },
        {
          role: "model",
          parts: [
            { text: thinking, thought: true },
            { text: saying },
            {
              functionCall: { id: readId, name: "read_file", args: { file_path: "a.txt", limit: 10 } },
              thoughtSignature: callSignature,
            },
            { functionCall: { id: lookId, name: "look", args: { at: "the sky" } } },
          ],
        },
        { role: "user", parts: [response(readId, "read_file", readOutput), ...lookParts(lookId)] },
      ];
      const later = [
        {
          role: "model",
          parts: [
            { text: laterThinking, thought: true },
            { text: answer, thoughtSignature: textSignature },
          ],
        },
        { role: "user", parts: [{ text: laterQuestion }] },
      ];
      return [request(first), request([...first, ...later])];
    },
  };
}

/** Names its calls, is told in a word how much to think, and takes images inside outputs. */
export const gemini3 = exchange({
  modelId: "gemini-3-pro-preview",
  thinkingConfig: { thinkingLevel: "high" },
  ids: ["fc-1", "fc-2"],
  lookParts: (id) => [response(id, "look", lookOutput, [image(otherPng)])],
});

/** Names no calls, has a budget of tokens, and takes images beside outputs. */
export const gemini25 = exchange({
  modelId: "gemini-2.5-pro",
  thinkingConfig: { thinkingBudget: 16_384 },
  ids: undefined,
  lookParts: (id) => [
    response(id, "look", lookOutput),
    image(otherPng),
    { text: "Tool executed successfully and returned this image as a response" },
  ],
});
