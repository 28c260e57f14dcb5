import type { TokenCounts } from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { delta, sse } from "./support/generate.ts";
import { chat, countsOf, record } from "./support/usage.ts";

describe("chat completions of many servers", () => {
  const shapes: [string, unknown, TokenCounts][] = [
    [
      "hits and misses of a cache",
      {
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 110,
        prompt_cache_hit_tokens: 75,
        prompt_cache_miss_tokens: 25,
        completion_tokens_details: { reasoning_tokens: 4 },
      },
      record(25, 75, 0, 10),
    ],
    [
      "cached tokens at the top",
      { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, cached_tokens: 75 },
      record(25, 75, 0, 10),
    ],
    [
      "a price and details of both sides",
      {
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 110,
        cost: 0.0012,
        is_byok: false,
        prompt_tokens_details: { cached_tokens: 75, cache_write_tokens: 5, audio_tokens: 0 },
        cost_details: { upstream_inference_cost: null },
        completion_tokens_details: { reasoning_tokens: 4, image_tokens: 0 },
      },
      record(20, 75, 5, 10),
    ],
    [
      "details that are null",
      {
        prompt_tokens: 100,
        total_tokens: 110,
        completion_tokens: 10,
        prompt_tokens_details: null,
        completion_tokens_details: null,
      },
      record(100, 0, 0, 10),
    ],
    [
      "no more than the three sums",
      { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
      record(100, 0, 0, 10),
    ],
    [
      "thinking beside the answer, seen by the total",
      {
        prompt_tokens: 100,
        completion_tokens: 4,
        total_tokens: 110,
        completion_tokens_details: { reasoning_tokens: 6 },
      },
      record(100, 0, 0, 10),
    ],
    [
      "an answer only by the total",
      { prompt_tokens: 100, completion_tokens: null, total_tokens: 110 },
      record(100, 0, 0, 10),
    ],
    [
      "more cached and written tokens than there were",
      {
        prompt_tokens: 100,
        completion_tokens: 10,
        cached_tokens: 90,
        prompt_tokens_details: { cache_write_tokens: 90 },
      },
      record(0, 90, 10, 10),
    ],
    [
      "names of the other interface",
      { input_tokens: 100, output_tokens: 10, input_tokens_details: { cached_tokens: 75 } },
      record(25, 75, 0, 10),
    ],
    [
      "times and speeds beside the counts",
      {
        queue_time: 0.01,
        prompt_tokens: 100,
        prompt_time: 0.002,
        completion_tokens: 10,
        completion_time: 0.03,
        total_tokens: 110,
        total_time: 0.04,
      },
      record(100, 0, 0, 10),
    ],
  ];
  it.each(shapes)("tell %s", async (_name, usage, counts) => {
    expect(await countsOf("openai-chat", chat(usage))).toEqual(counts);
  });

  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, cached_tokens: 75 };
  const growing = [2, 5, 10].map((tokens) => ({
    choices: [{ index: 0, delta: { content: "." }, finish_reason: tokens === 10 ? "stop" : null }],
    usage: { prompt_tokens: 100, completion_tokens: tokens, total_tokens: 100 + tokens, cached_tokens: 75 },
  }));
  const places: [string, readonly unknown[]][] = [
    [
      "in the chunk of the finish reason",
      [delta({ content: "hi" }), { choices: [{ delta: {}, finish_reason: "stop" }], usage }],
    ],
    ["inside the choice", [delta({ content: "hi" }), { choices: [{ delta: {}, finish_reason: "stop", usage }] }]],
    [
      "in a field of the server's own",
      [delta({ content: "hi" }), { choices: [{ delta: {}, finish_reason: "stop" }], x_groq: { id: "r", usage } }],
    ],
    ["in every chunk, growing", growing],
    ["before the finish reason", [{ choices: [], usage }, delta({ content: "hi" }, "stop")]],
    [
      "beside a choice without words, after the end",
      [
        delta({ content: "hi" }, "stop"),
        { choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }], usage },
      ],
    ],
    [
      "and null in all the others",
      [
        { choices: [{ delta: { content: "hi" } }], usage: null },
        { choices: [{ delta: {}, finish_reason: "stop" }], usage: null },
        { choices: [], usage },
      ],
    ],
  ];
  it.each(places)("tell it %s", async (_name, chunks) => {
    expect(await countsOf("openai-chat", sse(chunks))).toEqual(record(25, 75, 0, 10));
  });
});
