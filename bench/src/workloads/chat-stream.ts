/** A chat-completions stream over loopback HTTP, per chunk, to the reader of `session.run`. */
import { Worker } from "node:worker_threads";
import { createLanguageModel } from "@coxswain/core";
import { type Figure, medianPair, microseconds, times } from "../measure.ts";
import { read, Setting } from "../setting.ts";

const chunks = 20_000;

export async function chatStream(): Promise<Figure[]> {
  const worker = new Worker(new URL("./chat-server.js", import.meta.url), { workerData: { chunks } });
  const setting = await Setting.open();
  try {
    const port = await new Promise<number>((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    });
    const baseUrl = `http://127.0.0.1:${port}/v1`;
    const model = await createLanguageModel({
      provider: "bench",
      modelId: "bench",
      protocol: "openai-chat",
      baseUrl,
      contextWindow: 0,
      vision: false,
    });
    const agent = await setting.agent({ model });
    const { floor, workload } = await medianPair(
      9,
      () => bare(baseUrl),
      async () => {
        const session = await agent.createSession({ workspaceDir: setting.home });
        const start = performance.now();
        const seen = await read(session, "go");
        const us = ((performance.now() - start) * 1000) / chunks;
        await setting.checkRecords(session, seen);
        const heard = seen.reduce(
          (sum, { payload }) => sum + (payload.type === "partial_text" ? payload.text.length : 0),
          0,
        );
        if (heard !== chunks * "word ".length) throw new Error(`${heard} characters arrived`);
        await session.dispose();
        return us;
      },
      15,
    );
    const ratio = workload / floor;
    return [
      {
        workload: "a chat-completions stream over loopback HTTP, per chunk, to the reader",
        floor: `fetch + split + parse ${microseconds(floor)}`,
        measured: `${microseconds(workload)} = ${times(ratio)}`,
        target: "≤ 3 × floor",
        isMet: ratio <= 3,
      },
    ];
  } finally {
    await worker.terminate();
    await setting.close();
  }
}

/** The least that can be done: fetch, split at blank lines, parse. */
async function bare(baseUrl: string): Promise<number> {
  const start = performance.now();
  const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", body: "{}" });
  const decoder = new TextDecoder();
  let rest = "";
  let parsed = 0;
  for await (const bytes of response.body ?? []) {
    const events = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const data = event.slice("data: ".length);
      if (data === "[DONE]") continue;
      JSON.parse(data);
      parsed += 1;
    }
  }
  if (parsed < chunks) throw new Error(`${parsed} of ${chunks} chunks arrived`);
  return ((performance.now() - start) * 1000) / chunks;
}
