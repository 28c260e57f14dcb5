import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { hostMark, pipeDirectoryPrefix } from "../../src/shared/host-mark.ts";
import { endOrphanedCommands } from "../../src/environment/command/orphaned-commands.ts";
import { createWorld, isAlive, pidIn, run, untilGone } from "./support.ts";
import { bundle } from "./support/bundle.ts";

test("commands in the background that a killed process has left are ended by the next, whatever they are", async () => {
  const { workspaceDir, scratchpadDir } = await createWorld();
  await using program = await bundle(new URL("./support/dies-with-commands.ts", import.meta.url));
  // One whose input was open, and one that ignores its end and TERM and has left its group.
  const reads = "echo $$ > reads; exec cat";
  const holds =
    "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > own-session; while :; do sleep 1; done' & " +
    "echo $$ > holds; until [ -s own-session ]; do sleep 0.01; done; while :; do sleep 1; done";
  const child = spawn(process.execPath, [program.path, workspaceDir, scratchpadDir, reads, holds], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  for await (const text of child.stdout.setEncoding("utf8")) {
    printed += String(text);
    if (printed.endsWith("ready\n")) break;
  }
  const names = ["reads", "holds", "own-session"] as const;
  const pids = await Promise.all(names.map((name) => pidIn(join(workspaceDir, name))));
  const [reader, holder, session] = pids as [number, number, number];
  expect([reader, holder, session].map(isAlive)).toEqual([true, true, true]);

  const died = once(child, "exit");
  child.kill("SIGKILL");
  await died;
  // The end of its input is the end of a command that reads.
  await untilGone(reader);
  expect(isAlive(holder)).toBe(true);
  await endOrphanedCommands();
  expect([holder, session].map(isAlive)).toEqual([false, false]);
});

test("the directory of a pipe whose maker was killed while he made it is removed by the next", async () => {
  const { root } = await createWorld();
  await using program = await bundle(new URL("./support/dies-opening-pipe.ts", import.meta.url));
  const programDir = join(root, "programs");
  const temporaryDir = join(root, "temporary");
  await mkdir(programDir);
  await mkdir(temporaryDir);
  await writeFile(join(programDir, "mkfifo"), "#!/bin/sh\nkill -KILL $PPID\n", { mode: 0o755 });
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv("TMPDIR", temporaryDir);
  const environment = { ...process.env, PATH: programDir };
  const child = spawn(process.execPath, [program.path], { env: environment, stdio: ["ignore", "inherit", "inherit"] });
  expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
  expect(await readdir(temporaryDir)).toEqual([expect.stringMatching(/^coxswain-pipe-/)]);

  await endOrphanedCommands();
  expect(await readdir(temporaryDir)).toEqual([]);
});

test("the draft of a file whose writer was killed is removed by the next who writes beside it", async () => {
  const { environment, workspaceDir } = await createWorld();
  await using program = await bundle(new URL("./support/dies-writing.ts", import.meta.url));
  const args = [program.path, join(workspaceDir, "a")];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] });
  expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
  expect(await readdir(workspaceDir)).toEqual([expect.stringMatching(/^\.coxswain-draft-\S+\.tmp$/)]);

  const written = await run(environment, "write_file", { file_path: "b", content: "new" });
  expect(written.status).toBe("completed");
  expect(await readdir(workspaceDir)).toEqual(["b"]);
});

test("directories of pipes that a killed process has left are removed by the next, nobody else's", async () => {
  const { root } = await createWorld();
  const dead = pipeDirectoryPrefix().replace(hostMark(), `${process.pid}.1`);
  const elsewhere = `coxswain-pipe-1-${process.pid}.1-of-another-namespace`;
  const others = [`${pipeDirectoryPrefix()}own`, "coxswain-pipe-unnamed", `x-${dead}a`, elsewhere];
  await mkdir(join(root, "kept/in-it"), { recursive: true });
  for (const name of [`${dead}left`, ...others]) await mkdir(join(tmpdir(), name, "in-it"), { recursive: true });
  await symlink(join(root, "kept"), join(tmpdir(), `${dead}link`));
  await endOrphanedCommands();
  const there = await readdir(tmpdir());
  for (const name of [...others, `${dead}link`]) await rm(join(tmpdir(), name), { recursive: true, force: true });
  expect(there).toEqual(expect.arrayContaining([...others, `${dead}link`]));
  expect(there).not.toContain(`${dead}left`);
  expect(await readdir(join(root, "kept"))).toEqual(["in-it"]);
});
