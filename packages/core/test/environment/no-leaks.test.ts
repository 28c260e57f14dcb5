import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hostMark } from "../../src/shared/host-mark.ts";
import { markerName } from "../../src/environment/command/process-table.ts";
import { checkForLeaks, currentState, leftSince, watchSignal } from "./support/no-leaks.ts";

checkForLeaks();

test("each kind of thing that a test leaves is seen", async () => {
  const directory = mkdtempSync(join(tmpdir(), "seen-"));
  const before = await currentState(directory);
  expect(await leftSince(before, directory)).toEqual([]);

  // The second is found by its marker: its parent is gone.
  const sleeper = spawn("sleep", ["60"], { stdio: "ignore" });
  const variables = { ...process.env, [markerName]: `${hostMark()}.x` };
  const parent = spawn("sh", ["-c", "sleep 60 > /dev/null & echo $!"], {
    env: variables,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [printed] = (await once(parent.stdout, "data")) as [Buffer];
  await once(parent, "close");
  // More than the test runner may have had when the test began.
  const timers = Array.from({ length: 9 }, () => setTimeout(() => undefined, 60_000));
  const onTerm = (): void => undefined;
  process.on("SIGTERM", onTerm);
  const controller = new AbortController();
  watchSignal(controller.signal);
  controller.signal.addEventListener("abort", onTerm);
  writeFileSync(join(directory, "spilt"), "");
  const descriptor = openSync(join(directory, "spilt"), "r");
  const orphan = Number(printed.toString());

  const left = await leftSince(before, directory);
  process.kill(orphan, "SIGKILL");
  const ended = once(sleeper, "exit");
  sleeper.kill("SIGKILL");
  await ended;
  timers.forEach(clearTimeout);
  process.off("SIGTERM", onTerm);
  controller.signal.removeEventListener("abort", onTerm);
  closeSync(descriptor);
  rmSync(directory, { recursive: true });

  expect(left).toHaveLength(7);
  for (const words of [
    `process ${sleeper.pid}`,
    `process ${orphan}`,
    expect.stringMatching(/^\d+ timers$/),
    "listener on process: SIGTERM",
    "listener on a signal",
    "temporary file spilt",
    `descriptor ${descriptor}: ${join(directory, "spilt")}`,
  ]) {
    expect(left).toContainEqual(words);
  }
});
