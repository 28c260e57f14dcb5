import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { endProcesses, interruptProcesses } from "../../src/environment/command/end-processes.ts";
import {
  markerName,
  type ProcessEntry,
  processesOf,
  processTable,
} from "../../src/environment/command/process-table.ts";
import { isAlive, pidIn, untilGone } from "./support.ts";
import { createBackgroundWorld, makeGate } from "./support/background.ts";
import { bundle } from "./support/bundle.ts";

const command = { pid: 500, marker: "m" };
const entry = (pid: number, more: Partial<ProcessEntry> = {}): ProcessEntry => ({
  pid,
  parentPid: 1,
  groupId: pid,
  sessionId: pid,
  marker: undefined,
  ...more,
});

test("the processes of a command are found by group, session, marker and descent", () => {
  const shell = entry(500, { parentPid: process.pid });
  const own = [
    shell,
    entry(501, { groupId: 500 }),
    entry(502, { sessionId: 500 }),
    entry(503, { marker: "m" }),
    entry(504, { parentPid: 503 }),
    entry(505, { parentPid: 500 }),
  ];
  const others = [entry(506), entry(507, { marker: "n" })];
  const pids = processesOf([...own, ...others], command).map(({ pid }) => pid);
  expect(pids).toEqual([500, 501, 502, 503, 504, 505]);
});

test("of a command whose number is another's by now only what carries its marker is its own", () => {
  const table = [
    entry(500),
    entry(501, { groupId: 500 }),
    entry(502, { parentPid: 500 }),
    entry(503, { marker: "m" }),
    entry(504, { parentPid: 503 }),
  ];
  expect(processesOf(table, command).map(({ pid }) => pid)).toEqual([503, 504]);
});

test("whoever has the number of a command that has ended is neither ended nor interrupted", async () => {
  const leads = "setsid sh -c 'echo $$; exec sleep 60 > /dev/null 2>&1' &";
  const pid = Number(execFileSync("sh", ["-c", leads], { encoding: "utf8" }));
  onTestFinished(async () => {
    process.kill(pid, "SIGKILL");
    await untilGone(pid);
  });
  await interruptProcesses({ pid, marker: "m" });
  expect(await endProcesses({ pid, marker: "m" })).toBe(0);
  expect(isAlive(pid)).toBe(true);
});

test("a kill of a command that has ended signals nobody, says so, and gives its output", async () => {
  const world = await createBackgroundWorld();
  const open = makeGate(world);
  const process_id = await world.start("read x < gate; echo over; exit 3");
  open();
  await world.reported(1);
  const kill = vi.spyOn(process, "kill");
  onTestFinished(() => kill.mockRestore());
  const { output, status } = await world.call("kill_command", { process_id });
  expect({ output, status }).toEqual({
    output: "over\n[nothing was ended: the command had ended]\n[exit code: 3]",
    status: "completed",
  });
  expect(kill).not.toHaveBeenCalled();
});

test("processes are found also when descriptors are few, or there is none for a moment", async () => {
  const marker = `few-descriptors.${process.pid}`;
  const sleepers = Array.from({ length: 30 }, () =>
    spawn("sleep", ["60"], { env: { [markerName]: marker }, stdio: "ignore" }),
  );
  onTestFinished(async () => {
    await Promise.all(sleepers.map(ended));
  });
  await Promise.all(sleepers.map((sleeper) => once(sleeper, "spawn")));
  await using program = await bundle(new URL("./support/few-descriptors.ts", import.meta.url));
  const limited = ["-c", 'ulimit -n 64; exec "$@"', "sh", process.execPath, program.path, marker];
  expect(execFileSync("sh", limited, { encoding: "utf8" })).toBe("30 30\n");
});

test("a process is found by its marker also while it becomes another program", async () => {
  const marker = `always-another.${process.pid}`;
  const becomes = ["-c", 'exec setsid sh -c "$0" "$0"', 'exec sh -c "$0" "$0"'];
  const child = spawn("sh", becomes, { env: { [markerName]: marker, PATH: process.env.PATH }, stdio: "ignore" });
  onTestFinished(() => ended(child));
  await once(child, "spawn");
  for (let look = 0; look < 40; look++) {
    expect((await processTable()).filter((one) => one.marker === marker).map(({ pid }) => pid)).toEqual([child.pid]);
  }
});

test("the end of a Session does not wait for ever for a command that cannot be signalled, and warns of it", async () => {
  const world = await createBackgroundWorld({ secrets: ["token-0123456789"] });
  const kept = process.kill.bind(process);
  const kill = vi.spyOn(process, "kill").mockImplementation(() => {
    throw Object.assign(new Error("kill EPERM"), { code: "EPERM" });
  });
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  onTestFinished(() => {
    kill.mockRestore();
    warn.mockRestore();
  });
  await world.start("echo $$ > pid; : token-0123456789; exec sleep 60");
  const pid = await pidIn(join(world.workspaceDir, "pid"));
  const disposed = world.environment.dispose();
  expect(await world.clock.nextSleep()).toBe(5000);
  world.clock.advance(5000);
  await disposed;
  expect(warn).toHaveBeenCalledExactlyOnceWith(
    `Commands that could not be ended go on: ${pid} (echo $$ > pid; : [redacted]; exec sleep 60). End them by their process ids.`,
  );
  kept(pid, "SIGKILL");
  await untilGone(pid);
});

async function ended(child: ChildProcess): Promise<void> {
  const over = once(child, "exit");
  child.kill("SIGKILL");
  await over;
}
