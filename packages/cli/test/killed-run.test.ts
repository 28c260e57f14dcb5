import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { isPayload, type OmniMessage } from "@coxswain/protocol";
import { startWireServer, type WireServer } from "@coxswain/testing";
import { expect, test } from "vitest";
import {
  chatReply,
  cox,
  createPlace,
  ended,
  isAlive,
  parseLines,
  type Place,
  readTrace,
  said,
  startCox,
} from "./support.ts";

/** Several processes of the real command, one after the other. */
const timeoutMs = 60_000;

const noted = "echo once >> effects; cat effects";
/** Says that it runs, in words that its own text does not hold, and goes on for longer than any test. */
const endless = "echo begun >> effects; echo $$ > pid; printf 'end%s\\n' less; exec sleep 300";

const calls = [
  { id: "call_endless", name: "exec_command", arguments: JSON.stringify({ cmd: endless }) },
  { id: "call_noted", name: "exec_command", arguments: JSON.stringify({ cmd: noted }) },
];

interface Fixture extends AsyncDisposable {
  place: Place;
  server: WireServer;
}

async function serve(): Promise<Fixture> {
  const server = await startWireServer({
    exchanges: [
      { body: chatReply({ text: "Both at once.", calls }) },
      ...Array.from({ length: 3 }, () => ({ body: chatReply({ text: "Done." }) })),
    ],
  });
  const place = await createPlace();
  await place.configure(`${server.url}/v1`);
  const dispose = async (): Promise<void> => {
    await server.close();
    await place[Symbol.asyncDispose]();
  };
  return { place, server, [Symbol.asyncDispose]: dispose };
}

/** Kills a run in which one command has ended and the other one never does. */
async function killInTheMiddle({ place }: Fixture): Promise<{ id: string; trace: string; pid: number }> {
  const child = startCox(["run", "--approve", "allow", "--json", "the task"], { place, stdin: { open: true } });
  const isOver = ended(child);
  await Promise.all([said(child.stdout, "endless"), saidRecord(child, isOutputOf("call_noted"))]);
  const pid = Number(await readFile(join(place.workspace, "pid"), "utf8"));
  child.kill("SIGKILL");
  expect(await isOver).toMatchObject({ signal: "SIGKILL" });
  const [trace = ""] = await place.traceFiles();
  const [meta] = await readTrace(trace);
  if (meta?.type !== "session_meta") throw new Error("the Trace does not begin with session_meta");
  return { id: meta.payload.session_id, trace, pid };
}

function isOutputOf(id: string): (message: OmniMessage) => boolean {
  return (message) => isPayload(message, "tool_call_output") && message.payload.tool_call_id === id;
}

function saidRecord(
  { stdout }: ChildProcessWithoutNullStreams,
  isIt: (message: OmniMessage) => boolean,
): Promise<void> {
  return new Promise((resolve) => {
    let text = "";
    stdout.on("data", (chunk: Buffer | string) => {
      text += chunk.toString();
      if (parseLines(text.slice(0, text.lastIndexOf("\n") + 1)).some(isIt)) resolve();
    });
  });
}

interface SentMessage {
  role: string;
  content: string;
  tool_call_id?: string;
  tool_calls?: { id: string }[];
}

function sent(server: WireServer, index: number): SentMessage[] {
  const body = server.requests[index]?.body as { messages: SentMessage[] };
  return body.messages.filter(({ role }) => role !== "system");
}

function expectAllTold(server: WireServer, index: number, further: readonly string[]): void {
  const [task, calling, endlessOutput, notedOutput, ...rest] = sent(server, index);
  expect(task).toMatchObject({ role: "user", content: "the task" });
  expect(calling).toMatchObject({
    content: "Both at once.",
    tool_calls: [{ id: "call_endless" }, { id: "call_noted" }],
  });
  expect(endlessOutput).toMatchObject({ role: "tool", tool_call_id: "call_endless" });
  expect(endlessOutput?.content).toMatch(/process exited before the tool finished/);
  expect(notedOutput).toMatchObject({
    role: "tool",
    tool_call_id: "call_noted",
    content: expect.stringContaining("once"),
  });
  expect(rest.map(({ content }) => content)).toEqual(further);
}

async function expectEffectsOnce(place: Place): Promise<void> {
  const lines = (await readFile(join(place.workspace, "effects"), "utf8")).trim().split("\n");
  expect(lines.toSorted()).toEqual(["begun", "once"]);
}

test(
  "a run that was killed goes on with what was said and done, runs nothing twice, and ends what it left running",
  async () => {
    await using fixture = await serve();
    const { place, server } = fixture;
    const { id, trace, pid } = await killInTheMiddle(fixture);
    const before = await readFile(trace);
    const result = await cox(["run", "--session", id, "--approve", "allow", "continue"], { place });
    expect(result).toMatchObject({ code: 0, stdout: "Done.\n" });
    expectAllTold(server, 1, ["continue"]);
    expect(await isAlive(pid)).toBe(false);
    await expectEffectsOnce(place);
    expect((await readFile(trace)).subarray(0, before.length).equals(before)).toBe(true);
    await cox(["run", "--session", id, "--approve", "allow", "and more"], { place });
    expectAllTold(server, 2, ["continue", "Done.", "and more"]);
    const aborts = (await readTrace(trace)).filter((message) => isPayload(message, "abort"));
    expect(aborts.map(({ payload }) => payload.reason)).toEqual(["process exited"]);
  },
  timeoutMs,
);

test.each<[string, (id: string) => string[]]>([
  ["run --session", (id) => ["run", "--session", id]],
  ["resume with its id", (id) => ["resume", id]],
  ["resume alone", () => ["resume"]],
])(
  "a run that was killed goes on without a prompt by %s",
  async (_, commandFor) => {
    await using fixture = await serve();
    const { place, server } = fixture;
    const { id, pid } = await killInTheMiddle(fixture);
    const result = await cox([...commandFor(id), "--approve", "allow"], { place });
    expect(result).toMatchObject({ code: 0, stdout: expect.stringMatching(/Done\.\n$/) });
    expectAllTold(server, 1, []);
    expect(await isAlive(pid)).toBe(false);
    await expectEffectsOnce(place);
  },
  timeoutMs,
);

test(
  "a run that was killed while it went on after another was killed goes on as well",
  async () => {
    await using fixture = await serve();
    const { place, server } = fixture;
    const { id } = await killInTheMiddle(fixture);
    const second = startCox(["run", "--session", id, "--json", "continue"], { place, stdin: { open: true } });
    const isOver = ended(second);
    await said(second.stdout, '"request_begin"');
    second.kill("SIGKILL");
    await isOver;
    const result = await cox(["run", "--session", id, "and more"], { place });
    expect(result.code).toBe(0);
    const last = sent(server, server.requests.length - 1);
    expect(last.map(({ role }) => role).slice(0, 4)).toEqual(["user", "assistant", "tool", "tool"]);
    expect(JSON.stringify(last.slice(4))).toMatch(/continue.*and more/);
    await expectEffectsOnce(place);
  },
  timeoutMs,
);
