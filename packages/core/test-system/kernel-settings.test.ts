import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { makePlace, openWorld, type Place, removePlace } from "./support/sandboxed-world.ts";

let place: Place;

beforeAll(async () => {
  place = await makePlace();
  vi.stubEnv("HOME", place.home);
});

afterAll(async () => {
  await removePlace(place);
  vi.unstubAllEnvs();
});

/** Files below /proc, apart from those of processes, that can be opened for writing. What is opened is not written to. */
const look = `find /proc -path '/proc/[0-9]*' -prune -o -path '/proc/self*' -prune -o -path '/proc/thread-self*' -prune \\
  -o -type f -print 2>/dev/null | while read -r file; do ( exec 3>>"$file" ) 2>/dev/null && echo "$file"; done; true`;

it.each(["workspace", "strict"] as const)(
  "nothing of the kernel can be set in the sandbox %s, also by its superuser",
  async (level) => {
    const { environment, exec } = await openWorld(place, level);
    const { output } = await exec(look);
    await environment.dispose();
    const open = output.split("\n").filter((line) => line.startsWith("/proc/"));
    // Each process may ask to be woken there; nothing is set.
    expect(open.filter((path) => !path.startsWith("/proc/pressure/"))).toEqual([]);
    expect(output).toContain("[exit code: 0]");
  },
);
