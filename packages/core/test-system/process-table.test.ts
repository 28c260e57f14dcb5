import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { endProcesses } from "../src/environment/command/end-processes.ts";
import { markerName, processTable } from "../src/environment/command/process-table.ts";

vi.mock("node:timers/promises", async (original) => {
  const real = await original<typeof import("node:timers/promises")>();
  return { ...real, setTimeout: vi.fn(real.setTimeout) };
});

const isArm = process.arch === "arm64";
const systemCalls = { exitThread: isArm ? 93 : 60, unmap: isArm ? 215 : 11 };

beforeEach(() => vi.mocked(delay).mockClear());

/** Starts a program in a session of its own, which prints a line when it is what it is to be. */
async function startPerl(script: string, ...rest: string[]): Promise<{ child: ChildProcess; marker: string }> {
  const marker = randomUUID();
  const env = { PATH: process.env["PATH"], [markerName]: marker };
  const child = spawn("perl", ["-e", script, ...rest], { detached: true, env, stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  await once(child.stdout, "data");
  return { child, marker };
}

test("a process whose first thread has ended while another goes on is found and ended", async () => {
  const script = `use threads; $| = 1; my $first = $$;
    threads->create(sub {
      for (;;) { open F, "/proc/$first/stat"; last if <F> =~ /\\) Z/; }
      print "headless\\n"; sleep 60 while 1;
    });
    syscall(${systemCalls.exitThread}, 0)`;
  const { child, marker } = await startPerl(script);
  expect((await processTable()).filter((entry) => entry.marker === marker).map(({ pid }) => pid)).toEqual([child.pid]);
  const exit = once(child, "exit");
  expect(await endProcesses({ pid: undefined, marker })).toBe(1);
  expect(await exit).toEqual([null, "SIGTERM"]);
});

test("one that has given its variables back is waited for once", async () => {
  const script = `$| = 1; open F, "/proc/self/stat"; my @f = split / /, (<F> =~ s/.*\\) //r);
    my $from = $f[47] & ~4095;
    syscall(${systemCalls.unmap}, $from, (($f[48] + 4095) & ~4095) - $from);
    print "unmapped\\n"; sleep 60 while 1`;
  // What it is called with fills the page before.
  const { child } = await startPerl(script, "x".repeat(8192));
  const waits = async (): Promise<number> => {
    vi.mocked(delay).mockClear();
    expect((await processTable()).filter(({ pid }) => pid === child.pid)).toHaveLength(1);
    return vi.mocked(delay).mock.calls.length;
  };
  const first = await waits();
  expect(first).toBeGreaterThan(10);
  // Others may be becoming another program just now.
  expect(await waits()).toBeLessThan(first);
});
