import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");

describe("the example of a mock provider in the page about the SDK", () => {
  it("is the one that is run here", () => {
    expect(read("../../../docs/sdk.md")).toContain(`\`\`\`ts\n${read("./mock-endpoint-example.ts")}\`\`\``);
  });

  it("gets its answer and shows what was sent", async () => {
    const home = mkdtempSync(join(tmpdir(), "coxswain-test-"));
    vi.stubEnv("COXSWAIN_HOME", home);
    const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
    try {
      await import("./mock-endpoint-example.ts");
      expect(log.mock.calls).toMatchObject([
        [{ type: "text", text: "Hello from a mock." }],
        [{ type: "request_end", status: "completed" }],
        [{ model: "any", messages: [{ role: "system" }, { role: "user", content: "Hi" }] }],
      ]);
    } finally {
      log.mockRestore();
      vi.unstubAllEnvs();
      rmSync(home, { recursive: true });
    }
  });
});
