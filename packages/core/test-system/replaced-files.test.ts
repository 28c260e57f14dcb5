import { execFileSync } from "node:child_process";
import { appendFile, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { BackgroundReport } from "../src/engine/ports.ts";
import { run } from "../test/environment/support.ts";
import { makePlace, openWorld, type Place, removePlace, secret, type World } from "./support/sandboxed-world.ts";

let place: Place;

beforeEach(async () => {
  place = await makePlace();
  vi.stubEnv("HOME", place.home);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await removePlace(place);
  });
});

async function opened(): Promise<World> {
  const world = await openWorld(place, "strict");
  onTestFinished(() => world.environment.dispose());
  return world;
}

/** A file of the Workspace says that the command may look: it does so once the person has done what he does. */
const whenTold = "touch started; until test -e go; do sleep 0.02; done";

async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

/** What a command in the background says that has begun before the change and looks after it. */
async function looksAfter(world: World, command: string, change: () => Promise<void>): Promise<string> {
  const { output } = await world.exec(`${whenTold}; ${command}`, { run_in_background: true });
  const id = /process_id: (\w+)/.exec(output)?.[1];
  await vi.waitFor(() => readFile(join(place.workspaceDir, "started")), { timeout: 20_000 });
  await change();
  await writeFile(join(place.workspaceDir, "go"), "");
  return (await run(world.environment, "input_command", { process_id: id, yield_time_ms: 60_000 })).output;
}

describe("what is hidden in a home stays hidden from a command that runs", () => {
  it("while files are replaced, directories moved and others come to be", async () => {
    const { home } = place;
    await mkdir(join(home, ".config/git"), { recursive: true });
    await writeFile(join(home, ".npmrc"), secret);
    const world = await opened();
    const output = await looksAfter(world, `ls -A ~ ~/.config; grep -rs ${secret} ~`, async () => {
      await replace(join(home, ".npmrc"), secret);
      await replace(join(home, ".netrc"), secret);
      await rename(join(home, ".ssh"), join(home, ".ssh-before"));
      await mkdir(join(home, ".ssh"));
      await mkdir(join(home, ".config/gh"));
      await mkdir(join(home, ".m2"));
      for (const name of [
        ".zsh_history",
        ".ssh/id_test",
        ".config/gh/hosts.yml",
        ".config/git/credentials",
        ".m2/settings.xml",
      ]) {
        await writeFile(join(home, name), secret);
      }
    });
    expect(output).toBe(`${home}:\n.config\n.coxswain\n\n${home}/.config:\ngit\n[exit code: 1]`);
  });

  it("where they are links, of which some lead to a directory that is seen, or to a device", async () => {
    const { home } = place;
    await mkdir(join(home, "dotfiles/config"), { recursive: true });
    await writeFile(join(home, "dotfiles/npmrc"), secret);
    await writeFile(join(home, "dotfiles/vimrc"), "seen");
    await symlink("dotfiles/npmrc", join(home, ".npmrc"));
    await symlink("dotfiles/config", join(home, ".config"));
    await symlink("/dev/null", join(home, ".bash_history"));
    const world = await opened();
    const output = await looksAfter(world, `cat ~/dotfiles/vimrc; grep -rs ${secret} ~; echo > /dev/null`, async () => {
      await replace(join(home, "dotfiles/npmrc"), secret);
      await writeFile(join(home, "dotfiles/config/glab-cli"), secret);
    });
    expect(output).toBe("seen\n[exit code: 0]");
  });
});

describe("a command that runs is ended, and the person told, when something outside replaces", () => {
  function git(...args: string[]): void {
    execFileSync("git", args, { cwd: place.workspaceDir, stdio: "pipe" });
  }

  const rows: [string, string, () => Promise<void> | void][] = [
    ["the configuration of a repository", ".git/config", () => git("remote", "add", "origin", "https://example.org/x")],
    ["hooks", ".git/hooks", () => rename(join(place.workspaceDir, ".git/hooks"), join(place.outsideDir, "hooks"))],
    [
      "it by a file that comes after it",
      ".git/config",
      async () => {
        const path = join(place.workspaceDir, ".git/config");
        const text = await readFile(path);
        await rm(path);
        await writeFile(path, text);
      },
    ],
  ];
  it.each(rows)("%s", async (_, name, change) => {
    git("init", "--quiet");
    const { exec, environment } = await opened();
    const told = new Promise<BackgroundReport>((resolve) => environment.onReport(resolve));
    await exec("until test -e go; do sleep 0.02; done; echo '[evil]' >> .git/config; mkdir .git/hooks", {
      run_in_background: true,
    });
    await change();
    const { text, summary } = await told;
    await writeFile(join(place.workspaceDir, "go"), "");
    const path = join(place.workspaceDir, name);
    for (const words of [text, summary]) expect(words).toContain(`replaced "${path}" while the command ran`);
    expect(summary).toContain("by signal SIGKILL");
    expect(await readFile(join(place.workspaceDir, ".git/config"), "utf8")).not.toContain("evil");
    expect((await exec("echo x >> .git/config")).output).toContain("Read-only file system");
  });

  it("nothing when they are written to where they are, and git works around them", async () => {
    git("init", "--quiet");
    const world = await opened();
    const output = await looksAfter(world, "tail -n 1 .git/config; ls .git/hooks/pre-push", async () => {
      await appendFile(join(place.workspaceDir, ".git/config"), "# written\n");
      await writeFile(join(place.workspaceDir, ".git/hooks/pre-push"), "");
      git(
        "-c",
        "user.name=Tester",
        "-c",
        "user.email=t@example.com",
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "one",
      );
    });
    expect(output).toBe("# written\n.git/hooks/pre-push\n[exit code: 0]");
  });

  it("a hidden file of a home that is the Workspace", async () => {
    place = { ...place, workspaceDir: place.home };
    const world = await opened();
    const output = await looksAfter(world, `cat .netrc`, async () => replace(join(place.home, ".netrc"), "new"));
    expect(output).toContain(`replaced "${place.home}/.netrc" while the command ran`);
  });
});

it("all else in a home is seen and can be run as before, and a Workspace in it written to", async () => {
  const { home } = place;
  const workspaceDir = join(home, "code/project");
  for (const directory of [workspaceDir, join(home, ".cargo/bin"), join(home, ".config/tool")]) {
    await mkdir(directory, { recursive: true });
  }
  await writeFile(join(home, ".cargo/bin/compiler"), "#!/bin/sh\necho compiled\n", { mode: 0o755 });
  await writeFile(join(home, ".cargo/credentials.toml"), secret);
  await writeFile(join(home, ".config/tool/settings"), "set\n");
  await writeFile(join(home, "notes with spaces\n.txt"), "noted\n");
  await symlink(".cargo/bin/compiler", join(home, "compiler"));
  execFileSync("mkfifo", [join(home, "pipe")]);
  place = { ...place, workspaceDir };
  const { exec } = await opened();
  const seen =
    "~/.cargo/bin/compiler; ~/compiler; readlink ~/compiler; cat ~/.config/tool/settings ~/notes*; test -p ~/pipe";
  expect((await exec(seen)).output).toBe("compiled\ncompiled\n.cargo/bin/compiler\nset\nnoted\n[exit code: 0]");
  expect((await exec("echo x > made; cd ~; ls .cargo; stat -c %a .; touch ~/new; touch ~/.cargo/new")).output).toMatch(
    /^bin\n755\n.*\/new': Read-only file system\n.*\/new': Read-only file system\n\[exit code: 1\]$/,
  );
  expect(await readFile(join(workspaceDir, "made"), "utf8")).toBe("x\n");
  expect((await exec("pwd", { workdir: home })).output).toBe(`${home}\n[exit code: 0]`);
});

it("of a home with very many files a command sees directories first, and the person is told", async () => {
  const { home } = place;
  await mkdir(join(home, "zone"));
  for (let count = 0; count < 610; count++) await writeFile(join(home, `file-${count}`), "");
  const { exec, warnings } = await opened();
  expect(warnings).toEqual([expect.stringContaining(`commands see only a part of ${home}`)]);
  const { output } = await exec("test -d ~/zone && ls -A ~ | wc -l");
  expect(output).toMatch(/^[1-6]\d\d\n\[exit code: 0\]$/);
});
