import { describe, expect, test } from "vitest";
import { type BackgroundWorld, createBackgroundWorld, makeGate } from "./support/background.ts";

/** Types, and gives all that the command printed to its end. */
async function typed({ call }: BackgroundWorld, process_id: string, chars: string): Promise<string> {
  return (await call("input_command", { process_id, chars, yield_time_ms: 60_000 })).output;
}

describe("the open input of a command", () => {
  test("can be opened by name, more than once", async () => {
    const world = await createBackgroundWorld();
    const cat = await world.start("cat /dev/stdin", { stdin: true });
    const shell = await world.start("sh /dev/stdin", { stdin: true });
    const both = await world.start("head -c 2 /dev/stdin; cat - /dev/fd/0", { stdin: true });
    expect(await typed(world, cat, "a\nb\n\u0004")).toBe("a\nb\n[exit code: 0]");
    expect(await typed(world, shell, "echo $((40 + 2))\nexit 3\n\u0004")).toBe("42\n[exit code: 3]");
    expect(await typed(world, both, "a\nb\n\u0004")).toBe("a\nb\n[exit code: 0]");
  });

  test("can be opened by name after its end was typed, and still gives what came before", async () => {
    const world = await createBackgroundWorld();
    const open = makeGate(world);
    const process_id = await world.start("read x < gate; cat /dev/stdin; cat /dev/stdin; echo over", { stdin: true });
    await world.call("input_command", { process_id, chars: "late\n\u0004", yield_time_ms: 0 });
    open();
    expect(await typed(world, process_id, "")).toBe("late\nover\n[exit code: 0]");
  });

  test("waits for a slow reader, and all of it arrives", async () => {
    const world = await createBackgroundWorld();
    const open = makeGate(world);
    const process_id = await world.start("read x < gate; wc -c", { stdin: true });
    await world.call("input_command", { process_id, chars: "x".repeat(900_000), yield_time_ms: 0 });
    const tooMuch = await world.call("input_command", { process_id, chars: "x".repeat(900_000), yield_time_ms: 0 });
    expect(tooMuch.output).toContain("bytes that were typed are not read");
    await world.call("input_command", { process_id, chars: "\u0004", yield_time_ms: 0 });
    open();
    expect(await typed(world, process_id, "")).toBe("900000\n[exit code: 0]");
  });

  test("does no harm when the command ends before it has read it", async () => {
    const world = await createBackgroundWorld();
    const open = makeGate(world);
    const process_id = await world.start("read x < gate; exit 4", { stdin: true });
    await world.call("input_command", { process_id, chars: "x".repeat(900_000), yield_time_ms: 0 });
    open();
    expect(await typed(world, process_id, "")).toBe("[no output]\n[exit code: 4]");
  });

  test("is held by no other command, and a command gets no end of it but its own", async () => {
    const world = await createBackgroundWorld();
    const held = "for d in /proc/$$/fd/*; do readlink $d; done | grep -c pipe; echo up;";
    const first = await world.start(`${held} cat; echo over`, { stdin: true, until: "up" });
    const other = await world.start(`${held} exec sleep 60`, { stdin: true, until: "up" });
    // Input and both kinds of output: with an end for writing in it, the first would never see its end.
    expect(await typed(world, first, "\u0004")).toBe("over\n[exit code: 0]");
    await world.call("kill_command", { process_id: other });
  });
});
