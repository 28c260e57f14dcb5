import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { makePlace, openWorld, type Place, removePlace } from "./support/sandboxed-world.ts";

let place: Place;

beforeEach(async () => {
  place = await makePlace();
  vi.stubEnv("HOME", place.home);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await removePlace(place);
  });
});

it("what a command in a sandbox has printed is read to its end also while our own process is busy", async () => {
  const { exec, environment } = await openWorld(place, "strict");
  let isOver = false;
  onTestFinished(async () => {
    isOver = true;
    await environment.dispose();
  });
  const still = new Int32Array(new SharedArrayBuffer(4));
  const keepBusy = (): void => {
    Atomics.wait(still, 0, 0, 60);
    if (!isOver) setImmediate(keepBusy);
  };
  keepBusy();
  const outputs = await Promise.all([1, 2, 3, 4, 5, 6].map(async (index) => (await exec(`echo ${index}`)).output));
  expect(outputs).toEqual([1, 2, 3, 4, 5, 6].map((index) => `${index}\n[exit code: 0]`));
});
