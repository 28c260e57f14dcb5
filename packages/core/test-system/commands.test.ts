import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isPayload } from "@coxswain/protocol";
import { ManualClock } from "@coxswain/testing";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { run } from "../test/environment/support.ts";
import { makePlace, openWorld, type Place, removePlace, type World } from "./support/sandboxed-world.ts";

let place: Place;
let world: World;

beforeAll(async () => {
  place = await makePlace();
  vi.stubEnv("HOME", place.home);
  world = await openWorld(place, "strict");
});

afterAll(async () => {
  await world.environment.dispose();
  await removePlace(place);
  vi.unstubAllEnvs();
});

/** A call may return while its command is still being ended. */
async function expectGone(mark: string): Promise<void> {
  const running = async (): Promise<void> => expect(await processesWith(`sleep\x00${mark}`)).toEqual([]);
  await vi.waitFor(running, { timeout: 20_000 });
}

/** Processes of this machine that carry this text in their command line, apart from shells that look for it. */
async function processesWith(text: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "")));
  return lines.filter((line) => line.includes(text));
}

describe("a command in a strict sandbox", () => {
  it.each([
    ["exit 7", "[exit code: 7]"],
    ["true", "[exit code: 0]"],
    ["kill -KILL $$", "[exit code: 137]"],
    ["no-such-program", "[exit code: 127]"],
  ])("that is %s ends with %s", async (cmd, end) => {
    expect((await world.exec(cmd)).output.split("\n").at(-1)).toBe(end);
  });

  it("gives both streams in order, as they come", async () => {
    const ran = await world.exec("for i in 1 2 3; do echo out $i; echo err $i >&2; done");
    expect(ran.output).toBe("out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n[exit code: 0]");
    const seen: string[] = [];
    const controller = new AbortController();
    await run(
      world.environment,
      "exec_command",
      { cmd: "echo early; sleep 8611" },
      {
        signal: controller.signal,
        onMessage: ({ payload }) => {
          if (payload.type !== "partial_tool_call_output") return;
          seen.push(payload.output);
          if (payload.output.includes("early")) controller.abort();
        },
      },
    );
    expect(seen.join("")).toContain("early");
    await expectGone("8611");
  });

  it("takes part in nothing of the host's terminal, user or processes", async () => {
    const { output } = await world.exec(
      "ps -e -o comm= | sort -u | tr '\\n' ' '; test -t 0 || echo none; echo > /dev/tty",
    );
    expect(output).toMatch(/^bash bwrap ps sort tr none\n[^]*\/dev\/tty: No such device or address\n\[exit code: 1\]$/);
  });

  it("starts where it is told to, if that is there", async () => {
    await world.exec("mkdir -p sub");
    expect((await world.exec("pwd", { workdir: "sub" })).output).toBe(`${place.workspaceDir}/sub\n[exit code: 0]`);
    expect((await world.exec("pwd", { workdir: place.outsideDir })).output).toContain(place.outsideDir);
    for (const workdir of ["/run", "/tmp/.X11-unix-not-there", join(place.home, ".ssh")]) {
      const ran = await world.exec("pwd", { workdir });
      expect(ran.status).toBe("failed");
    }
  });

  it("finds in /tmp what an earlier one has put there, and nothing of the host's", async () => {
    await world.exec("echo kept > /tmp/mine; echo too > /var/tmp/other");
    expect((await world.exec("cat /tmp/mine /var/tmp/other; ls /tmp")).output).toBe(
      "kept\ntoo\nmine\nother\n[exit code: 0]",
    );
  });

  it("runs node, and npm with its scripts", async () => {
    const manifest = { name: "x", version: "1.0.0", scripts: { hello: 'node -p "6 * 7"' } };
    await writeFile(join(place.workspaceDir, "package.json"), JSON.stringify(manifest));
    const ran = await world.exec(
      "npm run --silent hello && npm pack --silent && npm install --silent --offline ./x-1.0.0.tgz",
    );
    expect(ran.output).toMatch(/^42\nx-1\.0\.0\.tgz\n[^]*\[exit code: 0\]$/);
  });

  it("may take its lines while it runs", async () => {
    const started = await world.exec('read -p "ok? " x; echo got $x', { stdin: true, yield_time_ms: 250 });
    const id = /process_id[^\w]+([\w-]+)/.exec(started.output)?.[1];
    const typed = await run(world.environment, "input_command", { process_id: id, chars: "y\n" });
    expect(typed.output).toContain("got y");
  });

  it("opens what is typed by its name", async () => {
    const started = await world.exec("cat /dev/stdin; echo over", { stdin: true, yield_time_ms: 250 });
    const id = /process_id[^\w]+([\w-]+)/.exec(started.output)?.[1];
    const typed = await run(world.environment, "input_command", { process_id: id, chars: "line\n\u0004" });
    expect(typed.output).toBe("line\nover\n[exit code: 0]");
  });

  it("is ended with all it started, whether it was interrupted, killed, out of time, or the Session closed", async () => {
    const stubborn = (mark: number): string =>
      `trap '' TERM; (trap '' TERM; setsid sleep ${mark}) & (env -i sleep ${mark}) & nohup sleep ${mark} >/dev/null & echo ready; while :; do sleep ${mark}; done`;
    const controller = new AbortController();
    const aborted = run(
      world.environment,
      "exec_command",
      { cmd: stubborn(8612) },
      {
        signal: controller.signal,
        onMessage: (message) => {
          if (isPayload(message, "partial_tool_call_output") && message.payload.output.includes("ready"))
            controller.abort();
        },
      },
    );
    const killed = world.exec(stubborn(8613), { run_in_background: true }).then(async ({ output }) => {
      const id = /process_id[^\w]+([\w-]+)/.exec(output)?.[1];
      expect((await run(world.environment, "kill_command", { process_id: id })).status).toBe("completed");
    });
    const clock = new ManualClock();
    const timed = await openWorld(place, "strict", "timed", { clock });
    const late = run(
      timed.environment,
      "exec_command",
      { cmd: stubborn(8615), yield_time_ms: 300_000 },
      {
        onMessage: (message) => {
          if (isPayload(message, "partial_tool_call_output") && message.payload.output.includes("ready"))
            clock.advance(120_000);
        },
      },
    );
    const closing = await openWorld(place, "strict", "closing");
    const closed = closing.exec(stubborn(8614), { run_in_background: true }).then(() => closing.environment.dispose());
    expect((await aborted).status).toBe("aborted");
    expect((await late).status).toBe("timeout");
    await timed.environment.dispose();
    await Promise.all([killed, closed]);
    await expectGone("861");
  });

  it("ends what it left in the background, and returns at once", async () => {
    const { output } = await world.exec("(while :; do sleep 8621; done) & (sleep 8621 &) ; echo done");
    expect(output).toMatch(/^done\n\[exit code: 0\]/);
    await expectGone("8621");
  });

  it("is told to stop before it is made to", async () => {
    const controller = new AbortController();
    await run(
      world.environment,
      "exec_command",
      { cmd: "trap 'echo tidied > tidied; exit' TERM; echo ready; sleep 8622 & wait" },
      {
        signal: controller.signal,
        onMessage: (message) => {
          if (isPayload(message, "partial_tool_call_output") && message.payload.output.includes("ready"))
            controller.abort();
        },
      },
    );
    await world.environment.dispose();
    expect(await readFile(join(place.workspaceDir, "tidied"), "utf8")).toBe("tidied\n");
  });

  it("does not outlive a host that was killed", async () => {
    const script = fileURLToPath(new URL("support/host.mjs", import.meta.url));
    const sources = fileURLToPath(new URL("../dist", import.meta.url));
    const command = "trap '' TERM HUP; setsid sleep 8631 & echo ready; sleep 8631";
    const host = spawn(process.execPath, [script, sources, place.workspaceDir, place.coxswainHome, command], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void host.kill("SIGKILL"));
    await once(host.stdout, "data");
    expect(await processesWith("sleep\x008631")).not.toEqual([]);
    host.kill("SIGKILL");
    await expectGone("8631");
  });
});
