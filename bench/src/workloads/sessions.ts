/** 500 Sessions at once, each 5 turns of one call and 40 deltas. */
import { isPartial, type OmniMessage, type Session } from "@coxswain/core";
import { type Figure, medianPair, milliseconds, times } from "../measure.ts";
import { playedModel } from "../played-model.ts";
import { approve, build, echoTool, Setting } from "../setting.ts";

const sessions = 500;
const turns = 5;
const deltas = 40;

export async function manySessions(): Promise<Figure[]> {
  // By itself: a collection throws compiled code away, as none does while Sessions go on.
  globalThis.gc?.();
  const { residentBytes } = await served();
  const { floor, workload } = await medianPair(9, bare, async () => (await served()).ms, 6);
  const megabytes = Math.round(residentBytes / 1e6);
  return [
    {
      workload: "500 Sessions at once, each 5 turns of one call and 40 deltas",
      floor: `bare ${milliseconds(floor)}`,
      measured: `${milliseconds(workload)} = ${times(workload / floor)} bare, ${megabytes} MB resident`,
      target: "≤ 300 ms",
      isMet: workload <= 300,
    },
  ];
}

async function served(): Promise<{ ms: number; residentBytes: number }> {
  const setting = await Setting.open();
  try {
    const agent = await setting.agent({ model: () => playedModel(reply), tools: [echoTool] });
    const open: Session[] = [];
    for (let index = 0; index < sessions; index += 1) {
      open.push(await agent.createSession({ workspaceDir: setting.home }));
    }
    const start = performance.now();
    const seen = await Promise.all(
      open.map((session) => readRecords(session.run([build.userText("go")], { approve }))),
    );
    const ms = performance.now() - start;
    const residentBytes = process.memoryUsage().rss;
    for (const [index, session] of open.entries()) {
      const { records, partials } = seen[index] ?? { records: [], partials: 0 };
      await setting.checkRecords(session, records);
      if (partials !== turns * (deltas + 2) + 3) throw new Error(`session ${session.id}: ${partials} fragments came`);
      await session.dispose();
    }
    return { ms, residentBytes };
  } finally {
    await setting.close();
  }
}

/** Keeps the records and counts the fragments, as whoever serves many does. */
async function readRecords(stream: AsyncIterable<OmniMessage>): Promise<{ records: OmniMessage[]; partials: number }> {
  const records: OmniMessage[] = [];
  let partials = 0;
  for await (const message of stream) {
    if (isPartial(message)) partials += 1;
    else records.push(message);
  }
  return { records, partials };
}

function reply(request: number) {
  if (request === turns) return { deltas: { count: 1, text: "done" } };
  const calls = [{ name: "echo", arguments: '{"text":"again"}', toolCallId: `call_${request}` }];
  return { deltas: { count: deltas, text: "word " }, calls };
}

/** As many plain generators that build and yield as many messages. */
async function bare(): Promise<number> {
  async function* stream(): AsyncGenerator<OmniMessage> {
    for (let turn = 0; turn < turns; turn += 1) {
      for (let index = 0; index < deltas; index += 1) yield build.partialText("delta", "word ");
      for (let index = 0; index < 8; index += 1) yield build.requestBegin();
    }
  }
  const start = performance.now();
  await Promise.all(Array.from({ length: sessions }, () => readRecords(stream())));
  return performance.now() - start;
}
