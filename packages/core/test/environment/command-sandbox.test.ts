import { spawn } from "node:child_process";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { CommandSandbox } from "../../src/environment/command/command-sandbox.ts";
import { ToolError } from "../../src/environment/tool-error.ts";
import { createWorld, run } from "./support.ts";
import { createBackgroundWorld } from "./support/background.ts";
import { bundle } from "./support/bundle.ts";

/** A program of its own around the shell, in another session: it dies of any signal, and gives on the exit code. */
const box: CommandSandbox = {
  wrap: ({ argv, workdir, variables }) => ({
    argv: [
      "/bin/sh",
      "-c",
      'cd "$0" && echo boxed && echo complains >&2; setsid --wait "$@"; exit $?',
      workdir,
      ...argv,
    ],
    workdir: "/",
    variables,
  }),
};

test("a command runs in what stands around it, whose complaints are heard, and its exit code comes through", async () => {
  const { environment, workspaceDir } = await createWorld({ sandbox: box });
  const ran = await run(environment, "exec_command", { cmd: "pwd; exit 7" });
  expect(ran.output).toBe(`boxed\ncomplains\n${workspaceDir}\n[exit code: 7]`);
});

test("a command that must not run there is told in its words", async () => {
  const wrap = (): never => {
    throw new ToolError("This directory is not in the sandbox: /etc");
  };
  const { environment } = await createWorld({ sandbox: { wrap } });
  const ran = await run(environment, "exec_command", { cmd: "true" });
  expect(ran).toMatchObject({ status: "failed", output: "This directory is not in the sandbox: /etc" });
});

test("Ctrl-C and the end reach the command inside before what stands around it", async () => {
  const { start, call } = await createBackgroundWorld({ sandbox: box });
  const listens = (signal: string) =>
    start(`trap 'echo caught ${signal}; exit 3' ${signal}; sleep 60 & echo up; wait`, { until: "up" });
  const interrupted = await listens("INT");
  expect((await call("input_command", { process_id: interrupted, chars: "\u0003" })).output).toMatch(
    /^caught INT\n\[exit code: 3\]/,
  );
  const ended = await listens("TERM");
  expect((await call("kill_command", { process_id: ended })).output).toMatch(/caught TERM\n\[exit code: 3\]/);
});

test("what stands around a command starts where and with what it asks for, and finds what it is handed", async () => {
  const script = 'pwd; env | grep -E "^(LD_|KEPT|GIVEN|COXSWAIN)"; cat <&3; cat <&4; ls /proc/self/fd | wc -l';
  const outside: CommandSandbox = {
    wrap: ({ variables }) => ({
      argv: ["/bin/sh", "-c", script],
      workdir: "/",
      variables: { PATH: "/usr/bin:/bin", GIVEN: String(variables["LD_LIBRARY_PATH"]) },
      handed: [Buffer.from("first\n"), Buffer.alloc(300_000, "long line\n").subarray(0, 10)],
    }),
  };
  vi.stubEnv("LD_LIBRARY_PATH", "lib:");
  vi.stubEnv("KEPT", "no");
  const { environment } = await createWorld({ sandbox: outside });
  const ran = await run(environment, "exec_command", { cmd: ":" });
  vi.unstubAllEnvs();
  // Of the descriptors one is the list itself.
  expect(ran.output.split("\n").filter((line) => !line.startsWith("COXSWAIN_COMMAND="))).toEqual([
    "/",
    "GIVEN=lib:",
    "first",
    "long line",
    "6",
    "[exit code: 0]",
  ]);
  expect(ran.output).toContain("COXSWAIN_COMMAND=");
});

test("more is handed than a pipe takes, also to one that does not read it", async () => {
  const bytes = Buffer.alloc(2 * 1024 * 1024, "x");
  const reading = (script: string): CommandSandbox => ({
    wrap: ({ variables }) => ({ argv: ["/bin/sh", "-c", script], workdir: "/", variables, handed: [bytes] }),
  });
  const [all, none] = await Promise.all(
    ["wc -c <&3", "exec 3<&-; echo none"].map(async (script) => {
      const { environment } = await createWorld({ sandbox: reading(script) });
      return (await run(environment, "exec_command", { cmd: ":" })).output;
    }),
  );
  expect([all, none]).toEqual([`${bytes.length}\n[exit code: 0]`, "none\n[exit code: 0]"]);
});

test("no program that we start ourselves is taken from where PATH leads", async () => {
  const { environment, workspaceDir } = await createWorld();
  const programs = join(workspaceDir, "bin");
  await mkdir(programs);
  for (const name of ["mkfifo", "ps", "env", "sh", "bash"]) {
    await writeFile(join(programs, name), `#!/bin/sh\ntouch "${workspaceDir}/taken-$(basename "$0")"\n`, {
      mode: 0o755,
    });
  }
  vi.stubEnv("PATH", `${programs}:${process.env["PATH"] ?? ""}`);
  await run(environment, "exec_command", { cmd: ":" });
  await run(environment, "exec_command", { cmd: ":", run_in_background: true });
  await environment.dispose();
  vi.unstubAllEnvs();
  expect((await readdir(workspaceDir)).filter((name) => name.startsWith("taken"))).toEqual([]);
});

test("what our own process was started with is not open in a command", async () => {
  const { workspaceDir, scratchpadDir } = await createWorld();
  await using program = await bundle(new URL("./support/runs-command.ts", import.meta.url));
  const inner = 'for d in 7 30 200; do [ -e "/proc/self/fd/$d" ] && echo "$d is open"; done; true';
  const outer = 'exec 7</etc 30</etc 200>>"$1"; shift; exec "$@"';
  const log = join(workspaceDir, "log");
  const argv = [process.execPath, program.path, workspaceDir, scratchpadDir, inner];
  const child = spawn("/bin/bash", ["-c", outer, "bash", log, ...argv], { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  for await (const text of child.stdout.setEncoding("utf8")) printed += String(text);
  expect(printed).toBe("[no output]\n[exit code: 0]\n");
});
