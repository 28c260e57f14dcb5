import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { callOf, createWorld, isAlive, run, untilGone } from "./support.ts";
import { createBackgroundWorld, idIn, makeGate, turn } from "./support/background.ts";

describe("a command that outlives its call", () => {
  test("goes on after the yield time, takes input, and tells its end once", async () => {
    const { call } = await createBackgroundWorld();
    const cmd = 'echo asked; read -p "ok? " x; echo got $x; exit 5';
    const first = await call("exec_command", { cmd, stdin: true }, { waitMs: 60_000, until: "asked" });
    expect(first).toMatchObject({ status: "completed", view: "asked\n" });
    expect(first.output).toMatch(/^asked\n\[still running; process_id: [0-9a-f]{10}\]$/);
    const process_id = idIn(first.output);
    const second = await call("input_command", { process_id, chars: "y\n" });
    expect(second).toMatchObject({ output: "got y\n[exit code: 5]", view: "got y\n", status: "completed" });
    const third = await call("input_command", { process_id });
    expect(third.status).toBe("failed");
    expect(third.output).toMatch(
      new RegExp(
        `^The command ${process_id} has ended with exit code 5 after 1 min 0 s, and its output has been given\\.`,
      ),
    );
  });

  test.each([
    [1, 250],
    [500_000, 110_000],
    [3000, 3000],
  ])("a yield time of %i ms is %i ms", async (asked, given) => {
    const { call } = await createBackgroundWorld();
    const ran = await call("exec_command", { cmd: "exec sleep 60", yield_time_ms: asked }, { waitMs: given });
    expect(ran.output).toMatch(/^\[no output\]\n\[still running/);
  });

  test("in the background a command that fails at once is told as such, another gives its id", async () => {
    const { call, reports, environment } = await createBackgroundWorld();
    const failed = await call("exec_command", { cmd: "echo no; exit 3", run_in_background: true });
    expect(failed.output).toBe("no\n[exit code: 3]");
    const started = await call("exec_command", { cmd: "sleep 60", run_in_background: true }, { waitMs: 250 });
    const ended = await call("kill_command", { process_id: idIn(started.output) });
    expect(ended.output).toBe("[no output]\n[ended by signal SIGTERM]");
    await environment.dispose();
    expect(reports).toEqual([]);
  });

  test("an interrupt or a reader who leaves ends only the wait for one that was to run in the background", async () => {
    const { environment, call, start, clock } = await createBackgroundWorld();
    const controller = new AbortController();
    const interrupted = call(
      "exec_command",
      { cmd: "echo up; exec cat", stdin: true, run_in_background: true },
      { signal: controller.signal },
    );
    while (!clock.sleeping.includes(250)) await turn();
    controller.abort();
    const told = await interrupted;
    expect(told.status).toBe("aborted");
    const process_id = /\[only the wait was stopped: the command goes on; process_id: (\w+)\]/.exec(told.output)?.[1];
    const typed = await call("input_command", { process_id, chars: "x\n\u0004" });
    expect(typed.output).toBe("up\nx\n[exit code: 0]");

    const left = await start("echo up; exec cat", { stdin: true, until: "up" });
    const waiting = environment.executeTool({ toolCall: callOf("input_command", { process_id: left, chars: "a\n" }) });
    for await (const message of waiting) {
      if (message.payload.type === "partial_tool_call_output") break;
    }
    // What he has been shown is not lost.
    expect((await call("input_command", { process_id: left, chars: "b\n\u0004" })).output).toBe("a\nb\n[exit code: 0]");
  });

  test("what is asked for by an id that is none is told, with what runs", async () => {
    const { call, start } = await createBackgroundWorld();
    expect((await call("kill_command", { process_id: "x" })).output).toBe(
      'There is no command "x". Commands end with the process of ours that started them. No command runs in the background.',
    );
    const id = await start("exec  sleep\n60");
    const { status, output } = await call("input_command", { process_id: "x", chars: "a" });
    expect(status).toBe("failed");
    expect(output).toContain(`In the background run: ${id} (exec sleep 60).`);
    const other = await createWorld();
    expect((await run(other.environment, "input_command", { process_id: id })).output).toContain("There is no command");
  });

  test("a preview tells which command it is and what is typed", async () => {
    const { environment, start, workspaceDir } = await createBackgroundWorld();
    const process_id = await start("exec cat", { stdin: true });
    const about = { command: "exec cat", workdir: workspaceDir };
    const preview = (name: string, args: object) => environment.preview(callOf(name, { process_id, ...args }));
    expect(await preview("input_command", { chars: "y\n" })).toEqual({
      summary: `Type "y\\n" into the command ${process_id}.`,
      ...about,
    });
    expect(await preview("input_command", {})).toEqual({ summary: `Look at the command ${process_id}.`, ...about });
    expect(await preview("kill_command", { description: "Done." })).toEqual({ summary: "Done.", ...about });
    expect(await environment.preview(callOf("kill_command", { process_id: "x" }))).toBeUndefined();
  });
});

describe("input", () => {
  test("Ctrl-C reaches a command without a terminal and without input; nothing else can be typed there", async () => {
    const { call, start } = await createBackgroundWorld();
    const process_id = await start("exec sleep 60");
    for (const chars of ["y\n", "\u0004", "\u0003y"]) {
      const refused = await call("input_command", { process_id, chars });
      expect(refused.status).toBe("failed");
      expect(refused.output).toContain("was started without `stdin: true`");
    }
    const stopped = await call("input_command", { process_id, chars: "\u0003" });
    expect(stopped.output).toBe("[no output]\n[ended by signal SIGINT]");
  });

  test("the end of the input comes after what was typed, and nothing after it", async () => {
    const { call, start } = await createBackgroundWorld();
    const process_id = await start("cat; echo over; exec sleep 60", { stdin: true });
    const refused = await call("input_command", { process_id, chars: "a\u0004b" });
    expect(refused.output).toContain("goes on after \\u0004");
    const ended = await call("input_command", { process_id, chars: "a\u0004", yield_time_ms: 0 });
    expect(ended.status).toBe("completed");
    const more = await call("input_command", { process_id, chars: "b" });
    expect(more.output).toContain("the standard input has been closed");
  });

  test("a command that closes its input, and one that does not read, do no harm", async () => {
    const { call, start } = await createBackgroundWorld();
    const closed = await start("exec 0<&-; echo up; exec sleep 60", { stdin: true, until: "up" });
    const deaf = await start("exec sleep 60", { stdin: true });
    const typed = await call("input_command", { process_id: closed, chars: "x", yield_time_ms: 1 }, { waitMs: 1 });
    expect(typed.output).toMatch(/^\[no output\]\n\[not all that was typed has arrived: .*EPIPE.*\]\n\[still running/);
    const again = await call("input_command", { process_id: closed, chars: "x" });
    expect(again.output).toContain("the command has closed its standard input");
    const much = "x".repeat(700_000);
    const fits = await call("input_command", { process_id: deaf, chars: much, yield_time_ms: 0 });
    expect(fits.status).toBe("completed");
    const tooMuch = await call("input_command", { process_id: deaf, chars: much });
    expect(tooMuch.output).toMatch(/\d+ bytes that were typed are not read/);
  });
});

describe("the end of commands in the background", () => {
  const tree =
    "trap '' TERM; setsid sh -c 'echo $$ > own-session; exec sleep 60' & " +
    "(setsid sh -c 'sleep 60 & echo $! > twice-forked' &) ; sh -c 'echo $$ > child; exec sleep 60' & " +
    "until [ -s own-session ] && [ -s twice-forked ] && [ -s child ]; do sleep 0.01; done; echo pid $$ up; wait";

  async function pidsOf(workspaceDir: string): Promise<number[]> {
    const names = ["own-session", "twice-forked", "child"];
    return Promise.all(names.map(async (name) => Number(await readFile(join(workspaceDir, name), "utf8"))));
  }

  test("a kill ends all that it has started and gives the rest; nothing is reported", async () => {
    const { call, start, workspaceDir, reports } = await createBackgroundWorld();
    const process_id = await start(tree, { until: "up" });
    const killed = await call("kill_command", { process_id });
    expect(killed.status).toBe("completed");
    expect(killed.output).toMatch(/\[ended by signal SIGKILL\]$/);
    const pids = await pidsOf(workspaceDir);
    expect(pids).toHaveLength(3);
    for (const pid of pids) expect(isAlive(pid)).toBe(false);
    expect(reports).toEqual([]);
  });

  test("an interrupted kill still kills, unreported, and what was left to say can be asked for", async () => {
    const world = await createBackgroundWorld();
    const { clock, call, start, workspaceDir } = world;
    const open = makeGate(world);
    const other = await start("read x < gate");
    const cmd = "trap '' TERM; echo $$ > pid; echo up; while :; do sleep 0.05; done";
    const process_id = await start(cmd, { until: "up" });
    const controller = new AbortController();
    const killing = call("kill_command", { process_id }, { signal: controller.signal });
    while (!clock.sleeping.includes(30_000)) await turn();
    controller.abort();
    expect((await killing).status).toBe("aborted");
    await untilGone(Number(await readFile(join(workspaceDir, "pid"), "utf8")));
    open();
    const [report] = await world.reported(1);
    expect(report?.summary).toContain(other);
    const rest = await call("input_command", { process_id });
    expect(rest.output).toBe("[no output]\n[ended by signal SIGKILL]");
    expect(world.reports).toHaveLength(1);
  });

  test("dispose ends them, also those with open input, and reports nothing", async () => {
    const { environment, start, workspaceDir, reports } = await createBackgroundWorld();
    await start(tree, { until: "up" });
    await start("exec cat", { stdin: true });
    await environment.dispose();
    for (const pid of await pidsOf(workspaceDir)) expect(isAlive(pid)).toBe(false);
    expect(reports).toEqual([]);
  });

  test("what a command that ends by itself leaves is ended too", async () => {
    const world = await createBackgroundWorld();
    const open = makeGate(world);
    await world.start("(setsid sleep 60 & echo $! > left); read x < gate; exit 2");
    open();
    const [report] = await world.reported(1);
    expect(report?.text).toContain(
      "[exit code: 2]\n[1 process that the command had left running in the background: ended]",
    );
    await untilGone(Number(await readFile(join(world.workspaceDir, "left"), "utf8")));
  });
});

describe("reports", () => {
  const secret = "token-0123456789";

  test("a command that ends by itself is reported once, to everybody, whatever they do", async () => {
    const world = await createBackgroundWorld({ secrets: [secret] });
    const { environment, clock, start, reported, call } = world;
    const others: string[] = [];
    environment.onReport(() => {
      throw new Error("bad listener");
    });
    environment.onReport(() => Promise.reject(new Error("bad listener")) as unknown as undefined);
    environment.onReport(({ summary }) => others.push(summary));
    environment.onReport(() => others.push("stopped"))();
    const open = makeGate(world);
    const id = await start(`read x < gate; echo ${secret} $'\\ud83d' end; exit 4  # ${"long ".repeat(300)}`);
    clock.advance(74_750);
    open();
    const [report] = await reported(1);
    expect(report?.text).toMatch(
      new RegExp(
        `^The background command ${id} has ended after 1 min 15 s: read x < gate; echo \\[redacted\\] [^\\n]{900,1000}…\\n` +
          `\\[exit code: 4\\]\\nIts output since the last look:\\n\\[redacted\\] [^\\n]*end\\n$`,
      ),
    );
    expect(report?.summary).toMatch(
      new RegExp(
        `^The command ${id} \\(read x < gate; [^\\n]{100,200}…\\) ended with exit code 4 after 1 min 15 s\\.$`,
      ),
    );
    expect(others).toEqual([report?.summary]);
    // It can still be asked for, once; who leaves before he is told makes no second report of it.
    for await (const _ of environment.executeTool({ toolCall: callOf("input_command", { process_id: id }) })) break;
    expect((await call("input_command", { process_id: id })).output).toMatch(/^\[redacted\] .*end\n\[exit code: 4\]$/);
    expect((await call("input_command", { process_id: id })).status).toBe("failed");
    expect(world.reports).toHaveLength(1);
  });

  test("no report comes of an end that a call tells; one comes when that call is stopped before", async () => {
    const world = await createBackgroundWorld();
    const { call, start, reported } = world;
    const open = makeGate(world);
    const told = await start("exec cat", { stdin: true });
    await call("input_command", { process_id: told, chars: "\u0004" });
    const id = await start("read x < gate");
    const controller = new AbortController();
    const waiting = call("input_command", { process_id: id, yield_time_ms: 9999 }, { signal: controller.signal });
    while (!world.clock.sleeping.includes(9999)) await turn();
    controller.abort();
    expect((await waiting).output).toContain("[only the wait was stopped: the command goes on");
    open();
    const reports = await reported(1);
    expect(reports).toHaveLength(1);
    expect(reports[0]?.text).toMatch(
      new RegExp(`${id} has ended[^]*\\nIt has printed nothing since the last look\\.$`),
    );
  });

  test("of much output a report has head and tail and says where the whole is", async () => {
    const world = await createBackgroundWorld();
    const open = makeGate(world);
    const id = await world.start("seq 1 50; read x < gate; seq 100 2000", { until: "50\n" });
    open();
    const [report] = await world.reported(1);
    const path = /the whole output is in (\S+) …\]/.exec(report?.text ?? "")?.[1] ?? "";
    expect(report?.text).toMatch(/last look:\n100\n101\n[^]*characters left out[^]*1999\n2000\n$/);
    expect(report?.text.length).toBeLessThan(4500);
    const whole = Array.from({ length: 1901 }, (_, index) => `${index + 100}\n`).join("");
    expect(await readFile(path, "utf8")).toBe(whole);
    expect((await world.call("input_command", { process_id: id })).output).toBe(`${whole}[exit code: 0]`);
  });
});

describe("how many", () => {
  test("16 run in the background; another is refused there, and waited for in front", async () => {
    const { clock, call, start, reports } = await createBackgroundWorld();
    const ids = await Promise.all(Array.from({ length: 16 }, () => start("exec sleep 60")));
    expect(new Set(ids).size).toBe(16);
    const refused = await call("exec_command", { cmd: "echo ran", run_in_background: true });
    expect(refused.status).toBe("failed");
    expect(refused.output).toMatch(
      /^The command was not started: 16 commands run in the background[^]*\(exec sleep 60\)/,
    );
    const cmd = "echo up; exec sleep 60";
    const inFront = call("exec_command", { cmd, yield_time_ms: 3000 }, { waitMs: 3000, until: "up" });
    for (let asked = 0; asked < 3; asked++) {
      while (!clock.sleeping.includes(1000)) await turn();
      if (asked === 2) await call("kill_command", { process_id: ids[0] });
      clock.advance(1000);
    }
    const ran = await inFront;
    expect(ran.output).toMatch(/^up\n\[still running; process_id: \w+\]$/);
    // However often it asked, what it printed is shown once.
    expect(ran.view).toBe("up\n");
    expect(reports).toEqual([]);
  });

  test("32 that have ended are kept until they are asked for; the oldest go first, and it is said", async () => {
    const world = await createBackgroundWorld();
    const { start, reported, call } = world;
    const ids: string[] = [];
    for (let batch = 1; batch <= 3; batch++) {
      const open = makeGate(world, `gate${batch}`);
      ids.push(...(await Promise.all(Array.from({ length: 11 }, () => start(`read x < gate${batch}`)))));
      open(11);
      await reported(ids.length);
    }
    const order = world.reports.map(({ summary }) => /^The command (\w+)/.exec(summary)?.[1] ?? "");
    expect([...order].sort()).toEqual([...ids].sort());
    const evicted = await call("input_command", { process_id: order[0] ?? "" });
    expect(evicted.status).toBe("failed");
    expect(evicted.output).toMatch(/has ended with exit code 0 [^]*its output was dropped/);
    for (const id of order.slice(1)) {
      expect((await call("input_command", { process_id: id })).output).toBe("[no output]\n[exit code: 0]");
    }
  });
});
