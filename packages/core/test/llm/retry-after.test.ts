import { describe, expect, it } from "vitest";
import { classify } from "../../src/llm/fault/outcome.ts";
import { type Fault, ProviderFault } from "../../src/llm/fault/provider-fault.ts";
import { retryAfterOf } from "../../src/llm/fault/retry-after.ts";

const now = Date.UTC(2026, 0, 1);

describe("Retry-After in headers", () => {
  it.each<[Record<string, string>, number | undefined]>([
    [{ "retry-after": "3" }, 3_000],
    [{ "retry-after": " 3 " }, 3_000],
    [{ "retry-after": "1.5" }, 1_500],
    [{ "retry-after": "0.0001" }, 1],
    [{ "retry-after": "10800" }, 10_800_000],
    [{ "retry-after-ms": "250" }, 250],
    [{ "retry-after": "3", "retry-after-ms": "250" }, 250],
    [{ "retry-after": "3", "retry-after-ms": "soon" }, 3_000],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:07 GMT" }, 7_000],
    [{ "retry-after": "Thursday, 01-Jan-26 00:00:07 GMT" }, 7_000],
    [{ "retry-after": "2026-01-01T00:00:07Z" }, undefined],
    [{ "retry-after": "Wed, 31 Dec 2025 23:00:00 GMT" }, undefined],
    [{ "retry-after": "-3" }, undefined],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "" }, undefined],
    [{ "retry-after": "1e99" }, undefined],
    [{ "retry-after": "9".repeat(400) }, undefined],
    [{ "retry-after": "NaN" }, undefined],
    [{ "x-ratelimit-reset-requests": "1s", "x-ratelimit-reset": "1767225700" }, undefined],
    [{}, undefined],
  ])("%j is %s ms", (headers, waitMs) => {
    expect(retryAfterOf({ kind: "http", status: 429, headers, body: "" }, now)).toBe(waitMs);
  });
});

describe("Retry-After in an error", () => {
  const rows: [unknown, number | undefined][] = [
    [{ retry_after: 3 }, 3_000],
    [{ retry_after: 0.5 }, 500],
    [{ retry_after: "3" }, 3_000],
    [{ retry_after: "3s" }, 3_000],
    [{ retryAfter: 3 }, 3_000],
    [{ retry_after_seconds: 3 }, 3_000],
    [{ retry_after_ms: 250 }, 250],
    [{ retryAfterMs: 250 }, 250],
    [{ metadata: { headers: { "Retry-After": "4" } } }, 4_000],
    [{ metadata: { headers: { "Retry-After": "Thu, 01 Jan 2026 00:00:07 GMT" } } }, 7_000],
    [{ details: [{ "@type": "x" }, { "@type": "google.rpc.RetryInfo", retryDelay: "34s" }] }, 34_000],
    [{ details: [{ retryDelay: "1.5s" }] }, 1_500],
    [{ details: [{ retryDelay: "0.004000000s" }] }, 4],
    [{ details: [{ retryDelay: 34 }] }, undefined],
    [{ details: [{ retryDelay: "34" }] }, undefined],
    [{ retry_after: -3 }, undefined],
    [{ retry_after: null }, undefined],
    [{ retry_after: "later" }, undefined],
    [{ retry_after: 1e300 }, undefined],
    [{ retry_after: Number.NaN }, undefined],
    [{ after: 3 }, undefined],
    [{ message: "Please try again in 1.5s. Visit the site." }, 1_500],
    [{ message: "Please try again in 20ms." }, 20],
    [{ message: "Please try again in 6m0s." }, 360_000],
    [{ message: "Please try again in 1h2m3.5s" }, 3_723_500],
    [{ message: "Limit 500000, Used 499000. Please try again in 2m59.56s. Need more?" }, 179_560],
    [{ message: "Please retry in 34.074824224s." }, 34_075],
    [{ message: "Please retry after 2 seconds." }, 2_000],
    [{ message: "Retry your request after 1 minute and 30 seconds" }, 90_000],
    [{ message: "wait 5 seconds before trying again" }, 5_000],
    [{ message: "Please wait at least 1 min" }, 60_000],
    [{ message: "Please try again later." }, undefined],
    [{ message: "Please try again in 5 days" }, undefined],
    [{ message: "Please try again in 5" }, undefined],
    [{ message: "You tried again in 3 sections" }, undefined],
    [{ message: "took 30s" }, undefined],
    [{ message: "Please try again in 9s", details: [{ retryDelay: "2s" }] }, 2_000],
    ["Please try again in 3s", 3_000],
    [undefined, undefined],
  ];
  it.each(rows)("%j is %s ms, also inside an answer", (error, waitMs) => {
    expect(retryAfterOf({ kind: "error_object", error }, now)).toBe(waitMs);
    const body = typeof error === "string" ? error : (JSON.stringify({ error }) ?? "");
    expect(retryAfterOf({ kind: "http", status: 429, headers: {}, body }, now)).toBe(waitMs);
  });

  it("headers come before words", () => {
    const fault: Fault = { kind: "http", status: 429, headers: { "retry-after": "1" }, body: "Try again in 9s" };
    expect(classify(new ProviderFault(fault), now)).toMatchObject({ status: "timeout", retryAfterMs: 1_000 });
  });

  it("is looked for in bounded time", () => {
    const long = `Please try again in ${"1h ".repeat(100_000)}`;
    const wide = { errors: Array.from({ length: 100_000 }, () => ({ message: long })) };
    let deep: unknown = { retry_after: 3 };
    for (let level = 0; level < 5_000; level += 1) deep = { inner: deep };
    for (const error of [long, wide, deep]) {
      expect(retryAfterOf({ kind: "error_object", error }, now) ?? 0).toBeGreaterThanOrEqual(0);
      expect(classify({ error }, now).errorMessage.length).toBeLessThan(900);
    }
  });

  it("of other faults there is none", () => {
    expect(retryAfterOf({ kind: "exception", error: new Error("try again in 3s") }, now)).toBeUndefined();
  });
});
