import { execFileSync } from "node:child_process";
import { chmod, chown, copyFile, cp, mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";

const nobody = 65534;
const isRoot = process.getuid?.() === 0;

it("a user without any power gets the same walls", async () => {
  const root = await realpath(await mkdtemp(join(tmpdir(), "ordinary-user-")));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const workspaceDir = join(root, "ws");
  await mkdir(workspaceDir);
  // Where the sources are, another user may not look.
  await cp(fileURLToPath(new URL("../dist", import.meta.url)), join(root, "sources"), { recursive: true });
  await copyFile(new URL("support/as-user.mjs", import.meta.url), join(root, "as-user.mjs"));
  const owner = isRoot ? nobody : (process.getuid?.() ?? nobody);
  if (isRoot) {
    await copyFile("/bin/sh", join(workspaceDir, "powerful"));
    await chmod(join(workspaceDir, "powerful"), 0o4755);
    for (const path of [root, workspaceDir]) await chown(path, owner, owner);
  }
  await chmod(root, 0o755);
  const attempts: [command: string, without: boolean, within: boolean][] = [
    ["echo x > in-the-workspace", true, true],
    [`test "$(id -u)" = ${owner}`, true, true],
    [`echo x > ${root}/outside; test -e ${root}/as-user.mjs`, true, false],
    ['test -n "$(ls /run)"', true, false],
    [`kill -0 ${process.ppid} || test -e /proc/${process.pid}`, true, false],
    ["grep -qE '^NoNewPrivs:\\s*0' /proc/self/status", true, false],
    ["unshare --user true", true, false],
    ...(isRoot ? ([["./powerful -p -c 'test \"$(id -u)\" = 0'", true, false]] as [string, boolean, boolean][]) : []),
  ];
  for (const level of ["workspace", "strict"]) {
    const args = [
      join(root, "as-user.mjs"),
      join(root, "sources"),
      root,
      level,
      ...attempts.map(([command]) => command),
    ];
    const told = execFileSync(process.execPath, args, {
      env: { PATH: process.env["PATH"], HOME: join(root, "home") },
      encoding: "utf8",
      ...(isRoot ? { uid: owner, gid: owner } : {}),
    });
    expect(JSON.parse(told)).toEqual(attempts.map(([, without, within]) => ({ without, within })));
  }
});
