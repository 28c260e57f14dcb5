import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { liveThroughShops } from "./simulator-example.ts";

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");

describe("the example of the page about the simulator", () => {
  it("is the one that is run here", () => {
    expect(read("../../../docs/simulator.md")).toContain(`\`\`\`ts\n${read("./simulator-example.ts")}\`\`\``);
  });

  it("finds nothing wrong with tools that are right", async () => {
    expect(await liveThroughShops(100)).toEqual([]);
  });
});
