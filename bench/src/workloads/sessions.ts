/** 500 Sessions at once, each 5 turns of one call and 40 deltas. */
import type { OmniMessage, Session } from "@coxswain/core";
import { type Figure, medianPair, milliseconds, times } from "../measure.ts";
import { playedModel } from "../played-model.ts";
import { build, echoTool, read, Setting } from "../setting.ts";

const sessions = 500;
const turns = 5;
const deltas = 40;

export async function manySessions(): Promise<Figure[]> {
  let peakBytes = 0;
  const { floor, workload } = await medianPair(
    5,
    bare,
    async () => {
      const setting = await Setting.open();
      try {
        const agent = await setting.agent({ model: () => playedModel(reply), tools: [echoTool] });
        const open: Session[] = [];
        for (let index = 0; index < sessions; index += 1) {
          open.push(await agent.createSession({ workspaceDir: setting.home }));
        }
        globalThis.gc?.();
        const start = performance.now();
        const seen = await Promise.all(open.map((session) => read(session, "go")));
        const ms = performance.now() - start;
        peakBytes = Math.max(peakBytes, process.memoryUsage().rss);
        for (const [index, session] of open.entries()) {
          await setting.checkRecords(session, seen[index] ?? []);
          await session.dispose();
        }
        return ms;
      } finally {
        await setting.close();
      }
    },
    4,
  );
  const megabytes = Math.round(peakBytes / 1e6);
  return [
    {
      workload: "500 Sessions at once, each 5 turns of one call and 40 deltas",
      floor: `bare ${milliseconds(floor)}`,
      measured: `${milliseconds(workload)} = ${times(workload / floor)} bare, ${megabytes} MB resident with every message kept`,
      target: "≤ 300 ms",
      isMet: workload <= 300,
    },
  ];
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
  await Promise.all(
    Array.from({ length: sessions }, async () => {
      const seen: OmniMessage[] = [];
      for await (const message of stream()) seen.push(message);
    }),
  );
  return performance.now() - start;
}
