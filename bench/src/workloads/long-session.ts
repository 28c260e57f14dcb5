/** A turn in a Session of 2,000 messages, through the model adapter that real providers take. */
import { type Figure, median, microseconds } from "../measure.ts";
import { read, Setting } from "../setting.ts";
import type { LanguageModel, Session } from "@coxswain/core";

const messages = 2_000;
const rounds = 40;

export async function longSession(): Promise<Figure[]> {
  const setting = await Setting.open();
  try {
    const agent = await setting.agent({ model: answering() });
    const short = await agent.createSession({ workspaceDir: setting.home });
    const long = await agent.createSession({ workspaceDir: setting.home });
    for (let turn = 0; turn < messages / 2; turn += 1) await read(long, `question ${turn}`);
    const shortUs: number[] = [];
    const longUs: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      shortUs.push(await turnOf(short));
      longUs.push(await turnOf(long));
    }
    await long.dispose();
    await short.dispose();
    const perMessage = Math.max(0, (median(longUs) - median(shortUs)) / messages);
    return [
      {
        workload: "a turn in a Session of 2,000 messages, per older message",
        floor: `a turn ${microseconds(median(shortUs))}`,
        measured: microseconds(perMessage),
        target: "≤ 0.02 µs",
        isMet: perMessage <= 0.02,
      },
    ];
  } finally {
    await setting.close();
  }
}

async function turnOf(session: Session): Promise<number> {
  const start = performance.now();
  await read(session, "one more");
  return (performance.now() - start) * 1000;
}

/** Says one word, whatever it is asked. */
function answering(): LanguageModel {
  const usage = {
    inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 5, text: 5, reasoning: 0 },
  };
  return {
    specificationVersion: "v3",
    provider: "bench",
    modelId: "bench",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("the bench streams")),
    doStream: () =>
      Promise.resolve({
        stream: new ReadableStream({
          start(controller) {
            controller.enqueue({ type: "text-start", id: "0" });
            controller.enqueue({ type: "text-delta", id: "0", delta: "yes" });
            controller.enqueue({ type: "text-end", id: "0" });
            controller.enqueue({ type: "finish", usage, finishReason: { unified: "stop", raw: "stop" } });
            controller.close();
          },
        }),
      }),
  };
}
