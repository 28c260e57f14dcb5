/** A stream of each protocol over loopback HTTP, per chunk, to the reader of one request. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createLanguageModel, GenerativeModel, systemClock, userText } from "@coxswain/core";
import { type Figure, medianPair, microseconds, times } from "../measure.ts";

const deltas = 20_000;
const word = "word ";
const inputTokens = 10;
const rounds = 7;
/** The packages' code is compiled late. */
const warmUps = 8;
const limits = { totalMs: 600_000, firstContentMs: 600_000, idleMs: 600_000 };

interface Protocol {
  name: string;
  protocol: "openai-chat" | "openai-responses" | "anthropic" | "gemini";
  path: string;
  /** Times the floor; absent: there is none. */
  target?: number;
}

const protocols: readonly Protocol[] = [
  { name: "chat completions", protocol: "openai-chat", path: "/v1/chat/completions", target: 3 },
  { name: "responses", protocol: "openai-responses", path: "/v1/responses" },
  { name: "Anthropic's messages", protocol: "anthropic", path: "/v1/messages" },
  { name: "Gemini", protocol: "gemini", path: "/v1/models/bench:streamGenerateContent?alt=sse" },
];

export async function protocolStreams(): Promise<Figure[]> {
  const server = fork(fileURLToPath(new URL("./protocol-server.js", import.meta.url)), [String(deltas)]);
  try {
    const url = `http://127.0.0.1:${await portOf(server)}`;
    const figures: Figure[] = [];
    for (const protocol of protocols) figures.push(await figureOf(protocol, url));
    return figures;
  } finally {
    server.kill();
  }
}

async function portOf(server: ChildProcess): Promise<number> {
  const [port] = (await once(server, "message")) as [number];
  return port;
}

async function figureOf({ name, protocol, path, target }: Protocol, url: string): Promise<Figure> {
  const settings = { provider: "bench", modelId: "bench", protocol, contextWindow: 0, vision: false, apiKey: "none" };
  const model = await createLanguageModel({ ...settings, baseUrl: `${url}/v1` });
  const { floor, workload } = await medianPair(
    rounds,
    () => bare(`${url}${path}`),
    async () => {
      const llm = new GenerativeModel({ model, systemPrompt: "", limits, clock: systemClock });
      const start = performance.now();
      await readAll(llm);
      return ((performance.now() - start) * 1000) / deltas;
    },
    warmUps,
  );
  const ratio = workload / floor;
  return {
    workload: `a stream of ${name} over loopback HTTP, per chunk, to the reader of the request`,
    floor: `fetch + split + parse ${microseconds(floor)}`,
    measured: `${microseconds(workload)} = ${times(ratio)}`,
    target: target === undefined ? "–" : `≤ ${target} × floor`,
    isMet: target === undefined || ratio <= target,
  };
}

/** @throws when a delta or the usage is missing */
async function readAll(llm: GenerativeModel): Promise<void> {
  const stream = llm.streamGenerate({ newMessages: [userText("go")] });
  let characters = 0;
  let counted = 0;
  for (;;) {
    const { done, value } = await stream.next();
    if (done === true) {
      if (value.status !== "completed") throw new Error(value.errorMessage ?? value.status);
      break;
    }
    const { payload } = value;
    if (payload.type === "partial_text") characters += payload.text.length;
    if (payload.type === "token_usage") counted = payload.request.total;
  }
  if (characters !== deltas * word.length) throw new Error(`${characters} characters arrived`);
  if (counted !== inputTokens + deltas) throw new Error(`${counted} tokens were counted`);
}

/** The least that can be done: fetch, split at blank lines, parse. */
async function bare(url: string): Promise<number> {
  const start = performance.now();
  const response = await fetch(url, { method: "POST", body: "{}" });
  const decoder = new TextDecoder();
  let rest = "";
  let parsed = 0;
  for await (const bytes of response.body ?? []) {
    const events = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const data = event.slice(event.indexOf("data: ") + "data: ".length);
      if (data === "[DONE]") continue;
      JSON.parse(data);
      parsed += 1;
    }
  }
  if (parsed < deltas) throw new Error(`${parsed} of ${deltas} chunks arrived`);
  return ((performance.now() - start) * 1000) / deltas;
}
