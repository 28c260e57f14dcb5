import { type ApproveFn, isPayload, parseOmniMessage, userImage, userText } from "@coxswain/core";
import { replay, type ScriptedStep } from "@coxswain/testing";
import { homedir } from "node:os";
import { describe, expect, it } from "vitest";
import { storedPlace } from "./stored-session.ts";
import { atEnd, collect, newSession, open } from "./support.ts";

const png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ";
const allow: ApproveFn = () => Promise.resolve("allow");
const steps: readonly ScriptedStep[] = [
  {
    text: `It is in ${homedir()}/notes.`,
    calls: [
      {
        name: "look",
        arguments: JSON.stringify({ at: 'curl -H "Authorization: Token abc123def" https://u:pw123456@h' }),
      },
    ],
  },
  { text: "Done." },
];

async function exported(options?: { media?: boolean; fidelity?: boolean }) {
  const place = await storedPlace([steps]);
  const agent = await place.agent();
  const session = await agent.createSession({ workspaceDir: place.workspace });
  atEnd(() => session.dispose());
  const prompt = "My keys are sk-live-abcdef123456 and AKIAABCDEFGHIJKLMNOP.";
  await collect(session.run([userText(prompt), userImage(png)], { approve: allow }));
  return agent.exportSession(session.id, options);
}

describe("an exported Session", () => {
  it("holds no key, header value, home directory or image, and counts what it does not", async () => {
    const { messages, scrubbed } = await exported();
    const text = JSON.stringify(messages);
    for (const secret of ["abcdef123456", "AKIAABCDEF", "abc123def", "pw123456", `${homedir()}/`, "iVBORw0KGgo"]) {
      expect(text).not.toContain(secret);
    }
    expect(text).toContain("My keys are [redacted] and [redacted].");
    expect(text).toContain("It is in /home/user/notes.");
    expect(scrubbed).toMatchObject({ media: 1, fidelity: 0 });
    expect(scrubbed.secrets).toBeGreaterThanOrEqual(3);
    expect(scrubbed.headers).toBeGreaterThanOrEqual(1);
    expect(scrubbed.paths).toBeGreaterThanOrEqual(1);
  });

  it("still parses, arguments of tools included, and replays", async () => {
    const { messages } = await exported();
    for (const message of messages) expect(parseOmniMessage(JSON.parse(JSON.stringify(message)))).toEqual(message);
    const call = messages.find((message) => isPayload(message, "tool_call"));
    expect(JSON.parse(call?.payload.arguments ?? "")).toEqual({
      at: 'curl -H "Authorization: Token [redacted]" https://[redacted]@h',
    });
    const report = await replay([{ context: 1, messages, tornTail: false, skippedLines: [], gaps: [] }]);
    expect(report.summary).toMatch(/: the same$/);
  });

  it("holds images when they are asked for", async () => {
    const { messages, scrubbed } = await exported({ media: true });
    expect(JSON.stringify(messages)).toContain(png);
    expect(scrubbed.media).toBe(0);
  });

  it("holds no value of a variable that is named like a password or a token of one's own", async () => {
    for (const name of ["TEST_DB_PWD", "TEST_HUB_PAT"]) {
      process.env[name] = `value-of-${name.toLowerCase()}`;
      atEnd(async () => void (await Promise.resolve(delete process.env[name])));
    }
    const place = await storedPlace([[{ text: "value-of-test_db_pwd, value-of-test_hub_pat" }]]);
    const agent = await place.agent();
    const session = await agent.createSession({ workspaceDir: place.workspace });
    atEnd(() => session.dispose());
    await collect(session.run([userText("tell")]));
    const { messages } = await agent.exportSession(session.id);
    expect(JSON.stringify(messages)).toContain('"text":"[redacted], [redacted]"');
  });

  it("holds no key of the Project, whatever it looks like", async () => {
    const place = await open(["good-answer"]);
    const session = await newSession(place);
    await collect(session.run([userText("hello")]));
    const { messages, unreadableLines } = await place.agent.exportSession(session.id);
    expect(messages[0]?.payload).toMatchObject({ session_id: session.id });
    expect(unreadableLines).toBe(0);
  });
});
