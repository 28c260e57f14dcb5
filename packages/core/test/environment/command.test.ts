import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { isPayload } from "@coxswain/protocol";
import { ManualClock } from "@coxswain/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { endOrphanedCommands } from "../../src/environment/command/orphaned-commands.ts";
import { markerName } from "../../src/environment/command/process-table.ts";
import { callOf, createWorld, isAlive, run, untilGone } from "./support.ts";

/** The process ids that a command has printed, one a line. */
function pidsIn(output: string): number[] {
  return [...output.matchAll(/pid (\d+)/g)].map((match) => Number(match[1]));
}

describe("exec_command", () => {
  test("runs in the Workspace or workdir and tells the exit code", async () => {
    const { environment, workspaceDir } = await createWorld();
    await mkdir(join(workspaceDir, "sub"));
    expect((await run(environment, "exec_command", { cmd: "pwd; exit 3" })).output).toBe(
      `${workspaceDir}\n[exit code: 3]`,
    );
    const inside = await run(environment, "exec_command", { cmd: "pwd", workdir: "sub" });
    expect(inside.output).toBe(`${workspaceDir}/sub\n[exit code: 0]`);
    const silent = await run(environment, "exec_command", { cmd: "true" });
    expect(silent.output).toBe("[no output]\n[exit code: 0]");
    const killed = await run(environment, "exec_command", { cmd: "kill -9 $$" });
    expect(killed.output).toBe("[no output]\n[ended by signal SIGKILL]");
  });

  test("keeps the order of output and errors", async () => {
    const { environment } = await createWorld();
    const cmd = "for i in 1 2 3; do echo out$i; echo err$i >&2; done";
    expect((await run(environment, "exec_command", { cmd })).output).toMatch(/^out1\nerr1\nout2\nerr2\nout3\nerr3\n/);
  });

  test("the streams can be opened by name", async () => {
    const { environment } = await createWorld();
    const cmd = "cat /dev/stdin; echo err > /dev/stderr; echo out | tee /dev/stdout";
    expect((await run(environment, "exec_command", { cmd })).output).toBe("err\nout\nout\n[exit code: 0]");
  });

  test("fails with words for what cannot be started", async () => {
    const { environment, workspaceDir } = await createWorld();
    await writeFile(join(workspaceDir, "file"), "");
    const cases = [
      [{ cmd: " " }, "`cmd` is empty"],
      [{ cmd: "ls", workdir: "nowhere" }, "does not exist"],
      [{ cmd: "ls", workdir: "file/below" }, "cannot be used (ENOTDIR: not a directory)"],
      [{ cmd: "ls", workdir: "x".repeat(300) }, "cannot be used (ENAMETOOLONG: name too long)"],
      [{ cmd: "ls", workdir: "file" }, "is not a directory"],
      [{ cmd: `: ${"x".repeat(300_000)}` }, "too long"],
      [{ cmd: "echo \0" }, "could not be started"],
    ] as const;
    for (const [args, words] of cases) {
      const ran = await run(environment, "exec_command", args);
      expect(ran.status).toBe("failed");
      expect(ran.output).toContain(words);
    }
  });

  test("a command that begins with a dash is a command, not an option", async () => {
    const { environment } = await createWorld();
    const ran = await run(environment, "exec_command", { cmd: "-x" });
    expect(ran.output).toContain("command not found");
  });

  test("shows output as it comes", async () => {
    const { environment, workspaceDir } = await createWorld();
    execFileSync("mkfifo", [join(workspaceDir, "gate")]);
    const cmd = "printf ready; read line < gate; echo got $line";
    const ran = await run(
      environment,
      "exec_command",
      { cmd },
      {
        onMessage: (message) => {
          const shown = isPayload(message, "partial_tool_call_output") && message.payload.output === "ready";
          if (shown) spawn("/bin/sh", ["-c", "echo go > gate"], { cwd: workspaceDir, stdio: "ignore" });
        },
      },
    );
    expect(ran).toMatchObject({ output: "readygot go\n[exit code: 0]", view: "readygot go\n" });
  });
});

describe("processes", () => {
  test.each(["sleep 60 & echo done", "(while :; do echo x; sleep 0.1; done) & echo done"])(
    "the call of `%s` ends with its command, and what it left is ended and told",
    async (cmd) => {
      const { environment } = await createWorld();
      const ran = await run(environment, "exec_command", { cmd: `${cmd}; echo pid $!` });
      expect(ran.output).toMatch(
        /^(x\n)*done\n(x\n)*pid \d+\n(x\n)*\[exit code: 0\]\n\[\d process(es)? that the command had left/,
      );
      for (const pid of pidsIn(ran.output)) expect(isAlive(pid)).toBe(false);
    },
  );

  test("a descendant that left the group is ended too", async () => {
    const { environment, workspaceDir } = await createWorld();
    const cmd =
      "setsid sh -c 'echo $$ > left; exec sleep 60' > /dev/null 2>&1 & until [ -s left ]; do sleep 0.01; done";
    const ran = await run(environment, "exec_command", { cmd });
    expect(ran.output).toContain("[1 process that the command had left running in the background: ended]");
    expect(isAlive(Number(await readFile(join(workspaceDir, "left"), "utf8")))).toBe(false);
  });

  test("an interrupt ends a command that ignores TERM, and its children", async () => {
    const { environment } = await createWorld();
    const controller = new AbortController();
    const cmd = "trap '' TERM; sleep 60 & echo pid $$; echo pid $!; echo up; wait; while :; do sleep 0.1; done";
    const ran = await run(
      environment,
      "exec_command",
      { cmd },
      {
        signal: controller.signal,
        onMessage: () => controller.abort(),
      },
    );
    expect(ran.status).toBe("aborted");
    expect(ran.output).toContain("[interrupted: tool aborted by user]");
    expect(pidsIn(ran.output)).toHaveLength(2);
    for (const pid of pidsIn(ran.output)) await untilGone(pid);
  });

  test("a time-out keeps what was printed and ends the command", async () => {
    const clock = new ManualClock();
    const { environment } = await createWorld({ clock });
    const ran = await run(
      environment,
      "exec_command",
      { cmd: "echo pid $$; exec sleep 60" },
      {
        onMessage: (message) => {
          if (isPayload(message, "partial_tool_call_output") && message.payload.event_type === "delta")
            clock.advance(120_000);
        },
      },
    );
    expect(ran.status).toBe("timeout");
    expect(ran.output).toMatch(/^pid \d+\n[^]*\[timed out after 120 s\]$/);
    for (const pid of pidsIn(ran.output)) await untilGone(pid);
  });

  test("dispose ends what runs", async () => {
    const { environment } = await createWorld();
    const ran = await run(
      environment,
      "exec_command",
      { cmd: "echo pid $$; exec sleep 60" },
      {
        onMessage: () => void environment.dispose(),
      },
    );
    await environment.dispose();
    expect(ran.status).toBe("aborted");
    expect(isAlive(pidsIn(ran.output)[0] ?? 0)).toBe(false);
  });

  test("what a killed Coxswain left is ended, what a living one runs is not", async () => {
    const start = (marker: string) =>
      spawn("sleep", ["60"], { env: { [markerName]: marker }, detached: true, stdio: "ignore" });
    const ownStart = (await readFile("/proc/self/stat", "utf8")).split(") ")[1]?.split(" ")[19];
    const id = "00000000-0000-4000-8000-000000000000";
    const owned = start(`${process.pid}.${ownStart}.${id}`);
    // Another process of the machine that starts just now may have ended it first.
    let count = 0;
    for (let tries = 0; count === 0 && tries < 20; tries++) {
      const orphan = start(`${process.pid}.1.${id}`);
      const ended = once(orphan, "exit");
      count = await endOrphanedCommands();
      expect((await ended)[1]).toBe("SIGTERM");
    }
    expect(count).toBeGreaterThanOrEqual(1);
    expect(owned.exitCode ?? owned.signalCode).toBeNull();
    const over = once(owned, "exit");
    owned.kill("SIGKILL");
    await over;
  });
});

describe("input", () => {
  test("commands that read find the end of input at once", async () => {
    const { environment } = await createWorld();
    expect((await run(environment, "exec_command", { cmd: "cat" })).output).toBe("[no output]\n[exit code: 0]");
    const asked = await run(environment, "exec_command", { cmd: 'read -p "ok? " x; echo got $x' });
    expect(asked.output).toBe("got\n[exit code: 0]");
  });

  test("git neither opens an editor nor asks for a password", async () => {
    const { environment } = await createWorld();
    const identity = "-c user.name=a -c user.email=a@example.org";
    const commit = await run(environment, "exec_command", {
      cmd: `git init -q . && echo a > a && git add a && git ${identity} commit`,
    });
    expect(commit.output).toMatch(/There is no editor here[^]*\[exit code: 1\]/);
    const asks = await run(environment, "exec_command", {
      cmd: "printf 'protocol=https\\nhost=example.org\\n\\n' | git -c credential.helper= credential fill",
    });
    expect(asks.output).toMatch(/\[exit code: 128\]/);
  });

  test("git gives up at once on a server that is not there, and on one that asks who it is", async () => {
    const { environment } = await createWorld();
    const server = createServer((_, response) => response.writeHead(401, { "www-authenticate": "Basic" }).end());
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const clone = async (url: string) => (await run(environment, "exec_command", { cmd: `git clone ${url} x` })).output;
    expect(await clone(`http://127.0.0.1:${port}/a`)).toMatch(/terminal prompts disabled[^]*\[exit code: 128\]$/);
    expect(await clone("https://127.0.0.1:1/a")).toMatch(/\[exit code: 128\]$/);
  });
});

describe("bytes", () => {
  async function printed(cmd: string) {
    const { environment } = await createWorld();
    return run(environment, "exec_command", { cmd });
  }

  test("colours, overwritten text, NUL and invalid bytes do no harm", async () => {
    const ran = await printed("printf 'a\\r\\033[31mb\\033[0m\\000\\377c\\n'");
    expect(ran.output).toBe("b\uFFFDc\n[exit code: 0]");
    expect(JSON.parse(JSON.stringify(ran.payload))).toEqual(ran.payload);
  });

  test("a sequence and a character that are split between two reads are whole", async () => {
    const ran = await printed(
      "printf 'x\\033[3'; sleep 0.1; printf '1mred\\033[0m \\303'; sleep 0.1; printf '\\251\\n'",
    );
    expect(ran).toMatchObject({ output: "xred é\n[exit code: 0]", view: "xred é\n" });
  });

  test("of a progress line the last state is left", async () => {
    const ran = await printed("printf '10%%'; sleep 0.1; printf '\\r50%%'; sleep 0.1; printf '\\r100%%\\nend\\r\\n'");
    expect(ran.output).toBe("100%\nend\n[exit code: 0]");
  });

  test("of a line that is taken back by backspaces the last state is left, and none of it is seen twice", async () => {
    const frames = "printf '\\b/'; sleep 0.05; printf '\\b-'; sleep 0.05; ";
    const ran = await printed(`printf 'work |'; sleep 0.1; ${frames}${frames}printf '\\bdone\\n'`);
    expect(ran).toMatchObject({ output: "work done\n[exit code: 0]", view: "work |\nwork done\n" });
  });

  test("titles, links and cursor moves leave nothing behind", async () => {
    const ran = await printed(
      "printf '\\033]0;title\\007a\\033]8;;http://x\\033\\\\link\\033]8;;\\033\\\\\\033(B\\033[2K\\033[1Gb\\033[?25l\\n'",
    );
    expect(ran.output).toBe("b\n[exit code: 0]");
  });

  test("binary output is told, not sent", async () => {
    const ran = await printed("echo text; head -c 50000 /dev/urandom");
    expect(ran.output).toMatch(/\[binary output, 50005 bytes in all: not shown\]\n\[exit code: 0\]$/);
    expect(ran.output.length).toBeLessThan(4000);
  });

  test("a flood is told with head and tail, and kept as far as 8 MiB", async () => {
    const { environment, scratchpadDir } = await createWorld();
    const ran = await run(environment, "exec_command", { cmd: "seq 1 3000000; exit 4" });
    expect(ran.output).toMatch(
      /^1\n2\n3\n[^]*\d+ characters left out; the first 8 MiB are in [^]*2999999\n3000000\n\[exit code: 4\]$/,
    );
    const note = "\n[exit code: 4]";
    expect(ran.output.length).toBeLessThanOrEqual(16_000 + note.length);
    expect(ran.view.length).toBe(16_000 + "[…]".length);
    const kept = await readdir(join(scratchpadDir, "outputs"));
    expect(kept).toHaveLength(1);
    expect((await stat(join(scratchpadDir, "outputs", kept[0] ?? ""))).size).toBe(8 * 1024 * 1024);
  });
});

describe("command policy", () => {
  const commandPolicy = [
    { name: "no-force-push", pattern: "git\\s+push\\b.*--force" },
    { name: "slow", pattern: "^(a+)+$" },
  ];

  test("gives the name of the first rule that matches", async () => {
    const { environment } = await createWorld({ commandPolicy });
    expect(environment.forbids(callOf("exec_command", { cmd: "cd x && git  push --force" }))).toBe("no-force-push");
    expect(environment.forbids(callOf("exec_command", { cmd: "git push \\\n  --fo\\\nrce" }))).toBe("no-force-push");
    expect(environment.forbids(callOf("exec_command", { cmd: "git push" }))).toBeUndefined();
    expect(environment.forbids(callOf("input_command", { process_id: "x", chars: "git push --force\n" }))).toBe(
      "no-force-push",
    );
    expect(environment.forbids(callOf("read_file", { cmd: "git push --force" }))).toBeUndefined();
    expect(environment.forbids(callOf("exec_command", '{"cmd": "git push --for'))).toBeUndefined();
  });

  test("a rule that runs away forbids and does not hang", async () => {
    const { environment } = await createWorld({ commandPolicy });
    expect(environment.forbids(callOf("exec_command", { cmd: `${"a".repeat(60)}!` }))).toBe("slow");
  });

  test("a rule that is no expression is an error that names it", async () => {
    await expect(createWorld({ commandPolicy: [{ name: "broken", pattern: "(" }] })).rejects.toThrow('"broken"');
  });
});

test("a preview tells the command and where it runs", async () => {
  const { environment, workspaceDir } = await createWorld();
  const call = callOf("exec_command", { cmd: "make", workdir: "sub", description: "Builds it." });
  expect(await environment.preview(call)).toEqual({
    summary: "Builds it.",
    command: "make",
    workdir: join(workspaceDir, "sub"),
  });
  expect(await environment.preview(callOf("exec_command", "{"))).toBeUndefined();
  expect(await readdir(workspaceDir)).toEqual([]);
});
