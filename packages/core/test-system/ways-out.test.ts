import { execFile, execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, cp, mkdir, readdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { run } from "../test/environment/support.ts";
import { makePlace, openWorld, type Place, removePlace, secret } from "./support/sandboxed-world.ts";

let place: Place;

beforeEach(async () => {
  place = await makePlace();
  vi.stubEnv("HOME", place.home);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await removePlace(place);
  });
});

async function inStrict(...commands: string[]): Promise<string[]> {
  const { exec, environment } = await openWorld(place, "strict");
  onTestFinished(() => environment.dispose());
  const outputs: string[] = [];
  for (const command of commands) outputs.push((await exec(command)).output);
  return outputs;
}

describe("nothing that a command makes runs outside of the sandbox", () => {
  it("by a program with the name of one that is started for each command", async () => {
    const bin = join(place.workspaceDir, "node_modules/.bin");
    await mkdir(bin, { recursive: true });
    vi.stubEnv("PATH", `${bin}:${process.env["PATH"]}`);
    const names = ["mkfifo", "bwrap", "sh", "bash", "ps", "env", "rm", "node"];
    const make = `for name in ${names.join(" ")}; do printf '#!/bin/sh\\ntouch ${place.outsideDir}/ran-$0\\n' > node_modules/.bin/$name; done; chmod +x node_modules/.bin/*`;
    const outputs = await inStrict(make, ":", "PATH=/usr/bin:/bin; echo second > /dev/stderr");
    expect(outputs[2]).toBe("second\n[exit code: 0]");
    expect(await readdir(place.outsideDir)).toEqual([]);
  });

  it("by a library in the Workspace, whether a path ends in a colon or names it", async () => {
    const wall = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"].find((path) => existsSync(path)) ?? "bwrap";
    const [name] = /libcap\.so\.\d+/.exec(execFileSync("ldd", [wall], { encoding: "utf8" })) ?? [];
    expect(name).toBeDefined();
    const file = join(place.workspaceDir, String(name));
    const paths = ["/nowhere:", place.workspaceDir, "."];
    for (const path of paths) {
      vi.stubEnv("LD_LIBRARY_PATH", path);
      const outputs = await inStrict(`echo no library > ${file}`, "echo $LD_LIBRARY_PATH");
      expect(outputs[1]).toBe(`${path}\n[exit code: 0]`);
      await rename(file, `${file}-aside`);
    }
  });

  it("by code of ours that lies in the Workspace", async () => {
    const built = fileURLToPath(new URL("..", import.meta.url));
    const own = join(place.workspaceDir, "node_modules/@coxswain/core");
    await cp(join(built, "dist"), join(own, "dist"), { recursive: true });
    await copyFile(join(built, "package.json"), join(own, "package.json"));
    const script = [
      `import { openSandbox } from "${own}/dist/environment/sandbox/open-sandbox.js";`,
      `import { startLaunch } from "${own}/dist/environment/command/launch.js";`,
      `const place = ${JSON.stringify(place)};`,
      'const scratchpadDir = place.coxswainHome + "/pad";',
      'const opened = await openSandbox({ ...place, level: "strict", scratchpadDir, hiddenPaths: [] });',
      'const command = "cd node_modules; for f in @coxswain/core/dist/environment/files/search-worker.js new-package; do echo x > $f; done; mv ../node_modules ../aside; mv @coxswain aside";',
      "const launch = { argv: ['/bin/sh', '-c', command], workdir: place.workspaceDir, variables: { PATH: '/usr/bin:/bin' } };",
      "console.log(JSON.stringify(opened.warnings), JSON.stringify(opened.writable.except));",
      "await startLaunch(opened.commands.wrap(launch), { input: 'ignore', output: 1 });",
    ].join("\n");
    const before = await readFile(join(own, "dist/environment/files/search-worker.js"), "utf8");
    // The packages that ours needs are where they are for this process.
    await symlink(join(built, "../../node_modules/@coxswain/protocol"), join(own, "../protocol"));
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
    expect(stdout).toMatch(/Coxswain runs from within the Workspace, so commands and file tools cannot change/);
    expect(stdout.split("\n")[0]).toMatch(/\/ws\/node_modules"/);
    expect(await readFile(join(own, "dist/environment/files/search-worker.js"), "utf8")).toBe(before);
    expect(await readdir(place.workspaceDir)).toEqual(["node_modules"]);
    expect(await readdir(join(place.workspaceDir, "node_modules"))).toEqual(["@coxswain"]);
  });

  it("by the pipe of its output, which is made where it cannot look, wherever temporary files go", async () => {
    const temporaryDir = join(place.workspaceDir, "tmp");
    await mkdir(temporaryDir);
    vi.stubEnv("TMPDIR", temporaryDir);
    const { exec, environment } = await openWorld(place, "strict");
    onTestFinished(() => environment.dispose());
    const pad = join(place.coxswainHome, "scratchpad/session-strict/private");
    await writeFile(join(pad, "there"), "");
    const look = `ls -A ${pad}; touch ${pad}/mine; stat -c %F /dev/fd/1 -L`;
    const outputs = (await Promise.all([1, 2, 3, 4].map(() => exec(look)))).map(({ output }) => output);
    for (const output of outputs) {
      expect(output).toMatch(/^touch: [^\n]*Read-only file system\nfifo\n\[exit code: 0\]$/);
    }
    expect(await readdir(temporaryDir)).toEqual([]);
    expect(await readdir(pad)).toEqual(["there"]);
  });
});

describe("a command gets", () => {
  it("no descriptor that its host was started with, or that builds its sandbox", async () => {
    const host = fileURLToPath(new URL("support/host.mjs", import.meta.url));
    const sources = fileURLToPath(new URL("../dist", import.meta.url));
    const script = 'exec 5</etc 9</etc 10</etc 30</etc 200>>"$1"; shift; exec "$@"';
    const command = "ls /proc/self/fd | tr '\\n' ' '";
    const argv = [process.execPath, host, sources, place.workspaceDir, join(place.root, "host"), command];
    const child = spawn("/bin/bash", ["-c", script, "bash", join(place.outsideDir, "log"), ...argv], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let printed = "";
    for await (const text of child.stdout.setEncoding("utf8")) printed += String(text);
    // The last one is the list.
    expect(printed.trim()).toBe("0 1 2 3");
  });

  it("its variables, which stand in no arguments that others could read", async () => {
    vi.stubEnv("TEST_SECRET", secret);
    vi.stubEnv("SEVERAL_LINES", "one\ntwo");
    const { exec, environment } = await openWorld(place, "strict");
    onTestFinished(() => environment.dispose());
    const marks: string[] = [];
    const running = run(
      environment,
      "exec_command",
      {
        cmd: 'printf "%s\\n" "$TEST_SECRET" "$SEVERAL_LINES" "$PWD" "$TMPDIR"; read -r line',
        stdin: true,
        yield_time_ms: 250,
      },
      {},
    );
    const { output } = await running;
    expect(output).toContain(`${secret}\none\ntwo\n${place.workspaceDir}\n/tmp\n`);
    for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
      const line = await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "");
      if (line.includes("bwrap") && line.includes("TEST_SECRET")) marks.push(line);
    }
    expect(marks.length).toBeGreaterThan(0);
    expect(marks.filter((line) => line.includes(secret))).toEqual([]);
    expect((await exec("true")).output).toBe("[no output]\n[exit code: 0]");
  });
});

it("our usual home is hidden while another one is in use", async () => {
  const usual = join(place.home, ".coxswain");
  place = { ...place, coxswainHome: join(place.root, "other-home") };
  const [output] = await inStrict(`grep -rs ${secret} ${usual}; test ! -e ${usual}`);
  expect(output).toBe("[no output]\n[exit code: 0]");
});
