import { toolCall, toolCallOutput, userText } from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { type Block, type End, protocols } from "../../llm/support/streams.ts";
import { collect, newSession, resume } from "../support.ts";
import { formFaults } from "./form.ts";
import { allow, openFor, played, read, sentFor, statuses } from "./models.ts";
import { cached, pairs } from "./reading.ts";
import { otherPng } from "./task.ts";

const signedThought: Block = { thinking: "Hm.\n", signature: "SIG+hm==" };

interface OddAnswer {
  name: string;
  blocks: readonly Block[];
  reason: End["reason"];
}

const oddAnswers: OddAnswer[] = [
  { name: "thinking alone, which a filter stopped", blocks: [signedThought], reason: "filter" },
  { name: "nothing, which a filter stopped", blocks: [], reason: "filter" },
  { name: "blanks", blocks: [{ text: "\n " }], reason: "stop" },
  { name: "thinking and blanks", blocks: [signedThought, { text: "\n\n" }], reason: "stop" },
  {
    name: "thinking, blanks and a call",
    blocks: [signedThought, { text: "\n\n" }, read("call_a", "a.txt")],
    reason: "calls",
  },
];

describe.each(protocols)("an answer over %s", (protocol) => {
  it.each(oddAnswers)("of $name leaves later requests ones that are accepted", async ({ blocks, reason }) => {
    const done = played(protocol, [{ text: "Done." }]);
    const place = await openFor(protocol, [played(protocol, blocks, reason), done, done, done]);
    const session = await newSession(place);
    const stream = await collect(session.run([userText("go")], { approve: allow, thinkingLevel: "high" }));
    expect(statuses(stream)[0]).toBe("completed");
    await collect(session.run([userText("on")], { thinkingLevel: "high" }));
    await session.dispose();
    await collect((await resume(place, session.id)).run([userText("and on")], { thinkingLevel: "high" }));
    const bodies = place.server.requests.map(({ body }) => body);
    for (const body of bodies) expect(formFaults(protocol, body)).toEqual([]);
    const [before, after] = bodies.slice(-2).map((body) => cached(protocol, body).messages);
    // A message of the user that follows another one may join it, so the last one is compared by its words.
    expect(after?.slice(0, (before?.length ?? 0) - 1)).toEqual(before?.slice(0, -1));
    expect(JSON.stringify(after)).toContain("and on");
  });
});

describe("an output of images alone", () => {
  const image = `data:image/png;base64,${otherPng}`;
  const made = [[image], [image, "data:image/tiff;base64,AAAA"]];
  const calls = made.map((_images, index) =>
    toolCall({ name: "paint", arguments: '{"a":1}', toolCallId: `call_${index}` }),
  );
  const outputs = made.map((images, index) => toolCallOutput({ output: "", images, toolCallId: `call_${index}` }));

  it.each([
    { protocol: "openai-chat", provider: "deepseek", modelId: "deepseek-reasoner" },
    { protocol: "openai-responses", provider: "openai", modelId: "gpt-5" },
    { protocol: "anthropic", provider: "anthropic", modelId: "claude-sonnet-4-5" },
    { protocol: "gemini", provider: "google", modelId: "gemini-3-pro-preview" },
    { protocol: "gemini", provider: "google", modelId: "gemini-2.5-pro" },
  ] as const)("is one output for each call over $protocol $modelId", async (model) => {
    const { protocol } = model;
    const body = await sentFor(model, [userText("go"), ...calls], outputs);
    const text = JSON.stringify(body);
    expect(text.split(otherPng)).toHaveLength(3);
    const answers = protocol === "gemini" ? text.split('"functionResponse"').length - 1 : pairs(protocol, body).length;
    expect(answers).toBe(2);
  });
});
