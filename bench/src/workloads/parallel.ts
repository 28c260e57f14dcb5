/** Turns of 32 parallel calls of 20 ms each: what one of them takes. */
import { defineTool } from "@coxswain/core";
import { setTimeout as sleep } from "node:timers/promises";
import { type Figure, medianPair, milliseconds, times } from "../measure.ts";
import { playedModel } from "../played-model.ts";
import { read, Setting } from "../setting.ts";

const turns = 5;
const calls = 32;
const delayMs = 20;

const waitTool = defineTool({
  name: "wait",
  description: "Waits.",
  parameters: { type: "object" },
  permission: "r",
  execute: async () => {
    await sleep(delayMs);
    return "waited";
  },
});

export async function parallelCalls(): Promise<Figure[]> {
  const setting = await Setting.open();
  try {
    const agent = await setting.agent({ model: () => playedModel(reply), tools: [waitTool] });
    const { floor, workload } = await medianPair(
      31,
      bare,
      async () => {
        const session = await agent.createSession({ workspaceDir: setting.home });
        const start = performance.now();
        const seen = await read(session, "go");
        const ms = (performance.now() - start) / turns;
        await setting.checkRecords(session, seen);
        await session.dispose();
        return ms;
      },
      40,
    );
    const ratio = workload / floor;
    return [
      {
        workload: "32 parallel calls of 20 ms, per turn",
        floor: milliseconds(floor),
        measured: `${milliseconds(workload)} = ${times(ratio)}`,
        target: "≤ 1.03 ×",
        isMet: ratio <= 1.03,
      },
    ];
  } finally {
    await setting.close();
  }
}

function reply(request: number) {
  if (request === turns) return { deltas: { count: 1, text: "done" } };
  return {
    calls: Array.from({ length: calls }, (_, index) => ({
      name: "wait",
      arguments: "{}",
      toolCallId: `call_${request}_${index}`,
    })),
  };
}

async function bare(): Promise<number> {
  const start = performance.now();
  await Promise.all(Array.from({ length: calls }, () => sleep(delayMs)));
  return performance.now() - start;
}
