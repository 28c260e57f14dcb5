import { LLMock } from "@copilotkit/aimock";
import { isPayload, type Session, userText } from "@coxswain/core";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { atEnd, collect, newSession, open, temporaryDirectory } from "./support.ts";

/** The first example in this language that has these words, as it stands in the page. */
async function example(page: string, language: string, words: string): Promise<string> {
  const text = await readFile(new URL(`../../../../${page}`, import.meta.url), "utf8");
  const examples = text.split(`\n\`\`\`${language}\n`).slice(1);
  const found = examples.map((rest) => rest.slice(0, rest.indexOf("```"))).find((body) => body.includes(words));
  if (found === undefined) throw new Error(`${page} has no example in ${language} with ${words}`);
  return found;
}

async function outputsAndTexts(session: Session, text: string) {
  const messages = await collect(session.run([userText(text)], { approve: async () => "allow" }));
  return {
    outputs: messages.filter((message) => isPayload(message, "tool_call_output")).map(({ payload }) => payload.output),
    texts: messages.filter((message) => isPayload(message, "text")).map(({ payload }) => payload.text),
  };
}

it("the scenario in the page about configuration interrupts the command that it has started", async () => {
  const place = await open([]);
  const modelId = join(place.home, "s.yaml");
  await writeFile(modelId, await example("docs/configuration.md", "yaml", "{{PROCESS_ID}}"));
  const session = await place.agent.createSession({ workspaceDir: place.workspace, provider: "offline", modelId });
  atEnd(() => session.dispose());
  const { outputs, texts } = await outputsAndTexts(session, "go");
  expect(outputs).toEqual([
    expect.stringMatching(/\n\[still running; process_id: [0-9a-f]{10}\]$/),
    expect.stringContaining("[ended by signal SIGINT]"),
  ]);
  expect(texts.at(-1)).toBe("That is all.");
});

it("the fixtures in the README call a tool and answer", async () => {
  const fixtures = join(await temporaryDirectory(), "mock.json");
  await writeFile(fixtures, await example("README.md", "json", "fixtures"));
  const mock = new LLMock({ port: 0 });
  mock.loadFixtureFile(fixtures);
  await mock.start();
  atEnd(() => mock.stop());
  const session = await newSession(await open([], {}, { serverUrl: mock.url }));
  expect(await outputsAndTexts(session, "look around")).toEqual({
    outputs: [expect.stringMatching(/a\.txt\nb\.txt/)],
    texts: ["I have looked."],
  });
});
