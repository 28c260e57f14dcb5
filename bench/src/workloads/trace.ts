/** One record of 1 KB: written to the Trace, and read back. */
import { appendFileSync, closeSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { OmniMessage } from "@coxswain/core";
import { type Figure, medianPair, microseconds, times } from "../measure.ts";
import { build, Setting } from "../setting.ts";

const records = 5_000;
/** Handed over at once, as when several tools answer in the same moment. */
const together = 16;

export async function trace(): Promise<Figure[]> {
  const setting = await Setting.open();
  try {
    const texts = Array.from(
      { length: records },
      (_, index) => `${index} ${"a line of text that is said. ".repeat(32)}`,
    );
    const messages: OmniMessage[] = texts.map((text) => build.assistantText(text));
    let round = 0;
    let sessionId = "";
    const writing = await medianPair(
      7,
      () => appendPlainly(join(setting.home, "floor.jsonl"), messages),
      async () => {
        round += 1;
        sessionId = `bench-${round}`;
        const sink = await setting.store.open(sessionId);
        const start = performance.now();
        for (let index = 0; index < records; index += together) {
          await sink.writeAll?.(messages.slice(index, index + together));
        }
        const us = ((performance.now() - start) * 1000) / records;
        await sink.close();
        return us;
      },
      10,
    );
    const oneByOne = await medianPair(
      7,
      () => writePlainly(join(setting.home, "floor.jsonl"), messages),
      async () => {
        const sink = await setting.store.open(`bench-single-${(round += 1)}`);
        const start = performance.now();
        for (const message of messages) await sink.write(message);
        const us = ((performance.now() - start) * 1000) / records;
        await sink.close();
        return us;
      },
      10,
    );
    const path = await setting.store.path(sessionId);
    const reading = await medianPair(
      7,
      () => parsePlainly(path),
      async () => {
        const start = performance.now();
        const contents = await setting.store.read(sessionId);
        const us = ((performance.now() - start) * 1000) / records;
        if (contents.messages.length !== records)
          throw new Error(`${contents.messages.length} of ${records} read back`);
        return us;
      },
      10,
    );
    const ratio = reading.workload / reading.floor;
    return [
      {
        workload: `Trace: write one 1 KB record, ${together} at a time`,
        floor: `append ${microseconds(writing.floor)}`,
        measured: microseconds(writing.workload),
        target: "≤ 4 µs",
        isMet: writing.workload <= 4,
      },
      {
        workload: "Trace: write one 1 KB record, each awaited before the next",
        floor: `JSON.stringify and writeSync ${microseconds(oneByOne.floor)}`,
        measured: `${microseconds(oneByOne.workload)} = ${times(oneByOne.workload / oneByOne.floor)}`,
        target: oneByOne.floor > 4 ? "≤ 4 µs, which the floor alone exceeds here" : "≤ 4 µs",
        isMet: oneByOne.workload <= 4,
      },
      {
        workload: "Trace: read one 1 KB record back",
        floor: `read and JSON.parse ${microseconds(reading.floor)}`,
        measured: `${microseconds(reading.workload)} = ${times(ratio)}`,
        target: "≤ 1.5 ×",
        isMet: ratio <= 1.5,
      },
    ];
  } finally {
    await setting.close();
  }
}

function appendPlainly(path: string, messages: readonly OmniMessage[]): number {
  writeFileSync(path, "");
  const start = performance.now();
  for (const message of messages) appendFileSync(path, `${JSON.stringify(message)}\n`);
  return ((performance.now() - start) * 1000) / messages.length;
}

/** The least that keeps one record a write: on a descriptor that stays open. */
function writePlainly(path: string, messages: readonly OmniMessage[]): number {
  const descriptor = openSync(path, "w");
  const bytes = Buffer.alloc(64 * 1024);
  const start = performance.now();
  for (const message of messages) writeSync(descriptor, bytes, 0, bytes.write(`${JSON.stringify(message)}\n`));
  const us = ((performance.now() - start) * 1000) / messages.length;
  closeSync(descriptor);
  return us;
}

function parsePlainly(path: string): number {
  const start = performance.now();
  const parsed = readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line): unknown => JSON.parse(line));
  if (parsed.length !== records) throw new Error(`${parsed.length} of ${records} lines`);
  return ((performance.now() - start) * 1000) / parsed.length;
}
