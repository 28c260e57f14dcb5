/** A Task whose answers hold everything that a provider wants back, the same on every protocol. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  defineTool,
  isPayload,
  type JSONSchema7,
  type OmniMessage,
  type Session,
  type Tool,
  userImage,
  userText,
} from "@coxswain/core";
import { builtInTools } from "../../../src/environment/built-in-tools.ts";
import type { WireProtocol } from "../../llm/support/streams.ts";
import { collect, newSession, open, type Place, resume } from "../support.ts";
import { fields } from "./reading.ts";

/** One red pixel. */
export const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
/** One blue pixel. */
export const otherPng = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYPgPAAEDAQAIicLsAAAAAElFTkSuQmCC";

export const systemPrompt = "Be exact.\nUse tools.";
export const question = "What do the picture and the file show?\n";
export const laterQuestion = "And now?";
/** In the two pieces that they come in. */
export const thoughts = ["First,\n  the picture;  ", "then é 🐧\n\tthe file.\n"] as const;
export const thinking = thoughts.join("");
export const saying = "I look at both.\n";
export const laterThinking = "Both  agree.\n";
export const answer = "Red,\n  and a.txt.";
export const lastAnswer = "The same.";
/** As the model writes them, which is not as we would. */
export const readArguments = '{"file_path": "a.txt",  "limit": 1e1}';
export const lookArguments = '{ "at": "the sky" }';
export const readOutput = "     1\ta.txt";
export const lookOutput = "one pixel";

export const lookTool: Tool = defineTool({
  name: "look",
  description: "Looks at something.",
  parameters: { type: "object", properties: { at: { type: "string" } }, required: ["at"] },
  permission: "r",
  execute: () => ({ output: lookOutput, images: [`data:image/png;base64,${otherPng}`] }),
});

export interface Exchange {
  provider: string;
  modelId: string;
  protocol: WireProtocol;
  /** Bodies: thinking, a text and two calls; thinking and a text; a text. */
  answers: readonly [string, string, string];
  /** Requests 2 and 3, from the first that holds an answer on: whole. */
  expected(facts: Facts): readonly [unknown, unknown];
}

export interface Facts {
  sessionId: string;
  /** Of the two calls, in order: for providers that give none. */
  callIds: readonly [string, string];
}

export interface Played {
  place: Place;
  session: Session;
  facts: Facts;
}

/** The Task, its resume in another agent, and one more message. */
export async function play(exchange: Exchange): Promise<Played> {
  const { answers, ...model } = exchange;
  const place = await open(
    answers.map((body) => ({ body })),
    { tools: [lookTool], systemPrompt },
    { ...model, settings: ["vision = true"], builtInTools: ["read_file"] },
  );
  const { session, stream } = await runTask(place);
  const [first = "", second = ""] = stream.flatMap((message) =>
    isPayload(message, "tool_call") ? [message.payload.tool_call_id] : [],
  );
  return { place, session, facts: { sessionId: session.id, callIds: [first, second] } };
}

export async function runTask(place: Place): Promise<{ session: Session; stream: OmniMessage[] }> {
  await writeFile(join(place.workspace, "a.txt"), "a.txt\n");
  const session = await newSession(place);
  const input = [userText(question), userImage(`data:image/png;base64,${png}`)];
  const stream = await collect(session.run(input, { approve: () => Promise.resolve("allow"), thinkingLevel: "high" }));
  await session.dispose();
  const resumed = await resume(place, session.id);
  await collect(resumed.run([userText(laterQuestion)], { thinkingLevel: "high" }));
  return { session: resumed, stream };
}

/** What a provider is told of both tools: name, description, schema. `plainNumbers`: without bounds. */
export function declared(
  options: { plainNumbers?: boolean } = {},
): { name: string; description: string; schema: unknown }[] {
  const { name, description, parameters } = builtInReadFile();
  const properties = fields(parameters.properties);
  const words = (property: string): unknown => fields(properties[property])["description"];
  const bound = options.plainNumbers === true ? {} : { minimum: 1 };
  const readSchema = {
    type: "object",
    properties: {
      file_path: { type: "string", description: words("file_path") },
      offset: { type: "integer", ...bound, description: words("offset") },
      limit: { type: "integer", ...bound, description: words("limit") },
      description: { type: "string", description: words("description") },
    },
    required: ["file_path"],
  };
  const lookSchema = { type: "object", properties: { at: { type: "string" } }, required: ["at"] };
  return [
    { name, description, schema: readSchema },
    { name: "look", description: "Looks at something.", schema: lookSchema },
  ];
}

function builtInReadFile(): { name: string; description: string; parameters: JSONSchema7 } {
  const tool = builtInTools().find(({ definition }) => definition.name === "read_file");
  if (tool === undefined) throw new Error("there is no read_file");
  return tool.definition;
}
