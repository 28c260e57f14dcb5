/** 20,000 text deltas through one turn. */
import type { OmniMessage } from "@coxswain/core";
import { type Figure, medianPair, microseconds, times } from "../measure.ts";
import { playedModel } from "../played-model.ts";
import { build, read, Setting } from "../setting.ts";

const count = 20_000;
const text = "word ";

export async function deltas(): Promise<Figure[]> {
  const setting = await Setting.open();
  try {
    const agent = await setting.agent({ model: () => playedModel(() => ({ deltas: { count, text } })) });
    const { floor, workload } = await medianPair(15, bare, async () => {
      const session = await agent.createSession({ workspaceDir: setting.home });
      const start = performance.now();
      const seen = await read(session, "go");
      const us = ((performance.now() - start) * 1000) / count;
      await setting.checkRecords(session, seen);
      if (seen.length < count) throw new Error(`${seen.length} of ${count} deltas arrived`);
      await session.dispose();
      return us;
    });
    const ratio = workload / floor;
    return [
      {
        workload: "20,000 text deltas through one turn, per delta",
        floor: `bare ${microseconds(floor)}`,
        measured: `${microseconds(workload)} = ${times(ratio)} bare`,
        target: "≤ 2 × bare",
        isMet: ratio <= 2,
      },
    ];
  } finally {
    await setting.close();
  }
}

/** A plain async generator that builds and yields the same messages. */
async function bare(): Promise<number> {
  async function* stream(): AsyncGenerator<OmniMessage> {
    yield build.partialText("start");
    for (let index = 0; index < count; index += 1) yield build.partialText("delta", text);
    yield build.partialText("stop");
    yield build.assistantText(text.repeat(count));
  }
  const start = performance.now();
  const seen: OmniMessage[] = [];
  for await (const message of stream()) seen.push(message);
  return ((performance.now() - start) * 1000) / count;
}
