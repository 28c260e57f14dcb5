/** 300 turns of one call each: what a turn costs, and whether late ones cost more than early ones. */
import { isPayload, type OmniMessage } from "@coxswain/core";
import { type Figure, median, milliseconds, times } from "../measure.ts";
import { playedModel } from "../played-model.ts";
import { approve, build, echoTool, Setting } from "../setting.ts";

const turns = 300;
const window = 50;
const warmUps = 60;
const rounds = 15;

export async function manyTurns(): Promise<Figure[]> {
  const setting = await Setting.open();
  try {
    const agent = await setting.agent({ model: () => playedModel(reply), tools: [echoTool] });
    const perTurn: number[] = [];
    const growth: number[] = [];
    for (let round = 0; round < warmUps + rounds; round += 1) {
      const session = await agent.createSession({ workspaceDir: setting.home });
      const seen: OmniMessage[] = [];
      const begins: number[] = [];
      const start = performance.now();
      for await (const message of session.run([build.userText("go")], { approve })) {
        seen.push(message);
        if (isPayload(message, "request_begin")) begins.push(performance.now());
      }
      const whole = performance.now() - start;
      await setting.checkRecords(session, seen);
      if (begins.length !== turns + 1) throw new Error(`${begins.length} requests instead of ${turns + 1}`);
      await session.dispose();
      if (round < warmUps) continue;
      perTurn.push(whole / turns);
      growth.push(between(begins, turns - window, turns) / between(begins, 0, window));
    }
    const perTurnMs = median(perTurn);
    const ratio = median(growth);
    return [
      {
        workload: "300 turns of one call each, per turn",
        floor: "–",
        measured: milliseconds(perTurnMs),
        target: "≤ 0.08 ms",
        isMet: perTurnMs <= 0.08,
      },
      {
        workload: "the last 50 of them against the first 50",
        floor: "1",
        measured: times(ratio),
        target: "≤ 1.1",
        isMet: ratio <= 1.1,
      },
    ];
  } finally {
    await setting.close();
  }
}

function reply(request: number) {
  return request < turns
    ? { calls: [{ name: "echo", arguments: '{"text":"again"}', toolCallId: `call_${request}` }] }
    : { deltas: { count: 1, text: "done" } };
}

/** Median gap between neighbours, so that one pause of the machine does not decide. */
function between(marks: readonly number[], from: number, to: number): number {
  return median(marks.slice(from, to).map((mark, index) => (marks[from + index + 1] ?? mark) - mark));
}
