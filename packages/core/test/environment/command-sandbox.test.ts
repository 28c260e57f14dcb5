import { expect, test } from "vitest";
import type { CommandSandbox } from "../../src/environment/command/command-sandbox.ts";
import { ToolError } from "../../src/environment/tool-error.ts";
import { createWorld, run } from "./support.ts";
import { createBackgroundWorld } from "./support/background.ts";

/** A program of its own around the shell, in another session: it dies of any signal, and gives on the exit code. */
const box: CommandSandbox = {
  wrap: (argv, workdir) => [
    "/bin/sh",
    "-c",
    'cd "$0" && echo boxed && echo complains >&2; setsid --wait "$@"; exit $?',
    workdir,
    ...argv,
  ],
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
