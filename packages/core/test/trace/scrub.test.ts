import { describe, expect, test } from "vitest";
import { Scrubber } from "../../src/trace/scrub.ts";
import { hideKeyForms } from "../../src/shared/secrets.ts";
import { build } from "./support.ts";

const options = { secrets: ["correct horse"], homes: ["/home/ida"], userName: "ida" };

function scrubText(text: string): string {
  const { payload } = new Scrubber(options).scrub(build.userText(text));
  return payload.type === "text" ? payload.text : "";
}

describe("what is handed on", () => {
  test.each([
    ["/home/ida/notes.md", "/home/user/notes.md"],
    ["in /home/ida.", "in /home/user."],
    ["/home/idaho/x stays", "/home/idaho/x stays"],
    ["/srv/ida/x and /mnt/ida", "/srv/user/x and /mnt/user"],
    ["ida says /var/idas", "ida says /var/idas"],
    ["my correct horse", "my [redacted]"],
    ["Authorization: Bearer abcdefghijkl", "Authorization: Bearer [redacted]"],
    ['{"x-api-key": "q1"}', '{"x-api-key": "[redacted]"}'],
    ["Cookie: a=b; c=d\nHost: h", "Cookie: [redacted]\nHost: h"],
    ["export DB_PASSWORD=hunter22 && run", "export DB_PASSWORD=[redacted] && run"],
    ["MYSQL_PWD=hunter22 GH_PAT=hunter23 run", "MYSQL_PWD=[redacted] GH_PAT=[redacted] run"],
    ["PWD=/srv/work OLDPWD=/srv", "PWD=/srv/work OLDPWD=/srv"],
    ["echo $TOKEN; A_TOKEN=$TOKEN", "echo $TOKEN; A_TOKEN=$TOKEN"],
    ["const apiKey: string = read()", "const apiKey: string = read()"],
    ['password = "letmein99"', 'password = "[redacted]"'],
    ["a key-value store, a tok-tok", "a key-value store, a tok-tok"],
    ["![x](data:image/png;base64,AAAAAAAAAAAAAAAAAAAA)", "![x](data:image/png;base64,)"],
  ])("%j becomes %j", (text, expected) => {
    expect(scrubText(text)).toBe(expected);
  });

  test.each([
    [
      "in JSON in JSON in JSON in JSON",
      (secret: string) => [1, 2, 3, 4].reduce((text) => JSON.stringify(text), secret),
    ],
    ["in an address", (secret: string) => `https://h/?q=${encodeURIComponent(secret)}&n=1`],
    ["in base64", (secret: string) => Buffer.from(secret).toString("base64")],
    ["in base64 of an address", (secret: string) => Buffer.from(secret).toString("base64url")],
    ["in base64 behind one other", (secret: string) => Buffer.from(`u${secret}`).toString("base64")],
    ["in base64 behind two others", (secret: string) => Buffer.from(`u:${secret}`).toString("base64")],
    ["in base64 between others", (secret: string) => Buffer.from(`user:${secret}\n`).toString("base64")],
  ])("a known secret is found %s", (_, write) => {
    const secret = 'Zz9+"\\/??>~q ü1';
    const scrubber = new Scrubber({ ...options, secrets: [secret] });
    const { payload } = scrubber.scrub(build.userText(write(secret)));
    expect(scrubber.scrubbed.secrets).toBe(1);
    const digits = /[A-Za-z0-9+/_-]{6,}/.exec(
      JSON.stringify(payload).replace("[redacted]", "").split('"text":')[2] ?? "",
    );
    expect(digits).toBeNull();
  });

  test("no field that records refer to each other by is changed, but for known secrets", () => {
    const id = "key_1234567_of_sk-abcdef123";
    const scrubber = new Scrubber(options);
    const call = scrubber.scrub(build.toolCall({ name: "key-store-9000000", arguments: "{}", toolCallId: id }));
    const output = scrubber.scrub(build.toolCallOutput({ toolCallId: id, output: "sk-abcdef123" }));
    expect(call.payload).toMatchObject({ name: "key-store-9000000", tool_call_id: id });
    expect(output.payload).toMatchObject({ tool_call_id: id, output: "[redacted]" });
    expect(scrubber.scrub(build.approvalDecision("allow", "correct horse")).payload).toMatchObject({
      tool_call_id: "[redacted]",
    });
  });

  test("images, data and opaque data are emptied, counted, and kept when asked for", () => {
    const image = "data:image/png;base64,QUJDREVGR0hJSktMTU5PUA==";
    const output = build.toolCallOutput({ toolCallId: "c", output: "", images: [image, "https://h/a.png?key=abc"] });
    const thought = build.thinking("hm", { fidelity: { test: { signature: "S correct horse" } } });
    const scrubber = new Scrubber(options);
    expect(scrubber.scrub(output).payload).toMatchObject({
      images: ["data:image/png;base64,", "https://h/a.png?key=[redacted]"],
    });
    expect(scrubber.scrub(thought).payload).toEqual({ type: "thinking", role: "assistant", thinking: "hm" });
    expect(scrubber.scrubbed).toEqual({ secrets: 1, headers: 0, paths: 0, media: 1, fidelity: 1 });
    const keeping = new Scrubber({ ...options, keepMedia: true, keepFidelity: true });
    expect(keeping.scrub(output).payload).toMatchObject({ images: [image, "https://h/a.png?key=[redacted]"] });
    expect(keeping.scrub(thought).payload).toMatchObject({ fidelity: { test: { signature: "S [redacted]" } } });
  });

  test("unknown records are looked through, however deep they are", () => {
    let deep: unknown = "sk-abcdef123";
    for (let level = 0; level < 5_000; level += 1) deep = { "/home/ida": deep };
    const message = { ...build.requestBegin(), payload: { type: "odd", list: [["sk-abcdef123"]], deep } };
    const clean = new Scrubber(options).scrub(message as never);
    expect(clean.payload).toMatchObject({ type: "odd", list: [["[redacted]"]] });
    expect(JSON.stringify(clean)).not.toMatch(/abcdef|ida/);
  });

  test("long texts without an end cost no more than their length", () => {
    const long = `-----BEGIN PRIVATE KEY-----${"A".repeat(1_000_000)}`;
    expect(hideKeyForms(long)).toBe("[redacted]");
    expect(scrubText("a=".repeat(200_000))).toHaveLength(400_000);
  });
});
