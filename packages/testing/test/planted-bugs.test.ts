import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

function plantedBugs(...options: string[]): { status: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/planted-bugs.mjs", ...options], {
    cwd: root,
    encoding: "utf8",
  });
  return { status, said: stdout + stderr };
}

// A limit for a machine that does much else besides: each test is some processes more.
describe("the list of bugs to plant", { timeout: 60_000 }, () => {
  it("can be planted, each in exactly one line of the shipped source", () => {
    const { status, said } = plantedBugs("--check");
    expect(said).toMatch(/^\d+ bugs can be planted\n$/);
    expect(status).toBe(0);
  });

  it("is looked for in copies, in which the simulator finds bugs of different kinds", () => {
    const names = ["late-call-has-no-placeholder", "request-before-its-record", "interrupt-swallows-steering"];
    const { status, said } = plantedBugs("--seeds", "30", "--only", names.join(","));
    expect(said).toContain("without any bug, every rule held for 30 seeds");
    expect(said).toContain("3 planted, 3 found");
    expect(status).toBe(0);
  });

  it("fails when a bug is not found", () => {
    const { status, said } = plantedBugs("--seeds", "1", "--only", "late-call-has-no-placeholder");
    expect(said).toContain("NOT FOUND");
    expect(said).toContain("1 planted, 0 found");
    expect(status).toBe(1);
  });

  it("names no bug that is not on it", () => {
    const { status, said } = plantedBugs("--only", "no-such-bug");
    expect(said).toContain("no bug has the name no-such-bug");
    expect(status).toBe(1);
  });
});
