/** 20,000 text deltas through one turn. */
import { type Agent, emptyTokenCounts, type LLMOutcome, type OmniMessage } from "@coxswain/core";
import { type Figure, median, microseconds, times } from "../measure.ts";
import { playedModel } from "../played-model.ts";
import { build, read, Setting } from "../setting.ts";

const count = 20_000;
const text = "word ";

const warmUps = 15;
const rounds = 15;

/** One floor for both models, in turns with them: a plain generator is twice as quick in some minutes as in others. */
export async function deltas(): Promise<Figure[]> {
  const setting = await Setting.open();
  try {
    const generator = await setting.agent({ model: () => ({ streamGenerate: generatorModel }) });
    const handWritten = await setting.agent({ model: () => playedModel(() => ({ deltas: { count, text } })) });
    const floors: number[] = [];
    const fromGenerator: number[] = [];
    const fromHandWritten: number[] = [];
    for (let round = 0; round < warmUps + rounds; round += 1) {
      const figures = [await bare(), await perDelta(setting, generator), await perDelta(setting, handWritten)] as const;
      if (round < warmUps) continue;
      floors.push(figures[0]);
      fromGenerator.push(figures[1]);
      fromHandWritten.push(figures[2]);
    }
    const floor = median(floors);
    return [
      figure("20,000 text deltas through one turn, per delta, from a model that is a generator", floor, fromGenerator),
      figure("the same from a model written as adapters are", floor, fromHandWritten),
    ];
  } finally {
    await setting.close();
  }
}

function figure(workload: string, floor: number, measured: readonly number[]): Figure {
  const us = median(measured);
  return {
    workload,
    floor: `bare ${microseconds(floor)}`,
    measured: `${microseconds(us)} = ${times(us / floor)} bare`,
    target: "≤ 2 × bare",
    isMet: us / floor <= 2,
  };
}

async function perDelta(setting: Setting, agent: Agent): Promise<number> {
  const session = await agent.createSession({ workspaceDir: setting.home });
  const start = performance.now();
  const seen = await read(session, "go");
  const us = ((performance.now() - start) * 1000) / count;
  await setting.checkRecords(session, seen);
  if (seen.length < count) throw new Error(`${seen.length} of ${count} deltas arrived`);
  await session.dispose();
  return us;
}

async function* textStream(): AsyncGenerator<OmniMessage> {
  yield build.partialText("start");
  for (let index = 0; index < count; index += 1) yield build.partialText("delta", text);
  yield build.partialText("stop");
  yield build.assistantText(text.repeat(count));
}

/** Written out, since delegating would cost a second generator. */
async function* generatorModel(): AsyncGenerator<OmniMessage, LLMOutcome> {
  yield build.partialText("start");
  for (let index = 0; index < count; index += 1) yield build.partialText("delta", text);
  yield build.partialText("stop");
  yield build.assistantText(text.repeat(count));
  const request = { ...emptyTokenCounts(), input: 10, output: 5, total: 15 };
  yield build.tokenUsage({ session: request, request });
  return { status: "completed" };
}

/** A plain async generator that builds and yields the same messages. */
async function bare(): Promise<number> {
  const start = performance.now();
  const seen: OmniMessage[] = [];
  for await (const message of textStream()) seen.push(message);
  return ((performance.now() - start) * 1000) / count;
}
