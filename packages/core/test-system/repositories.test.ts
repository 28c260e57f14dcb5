import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
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

const identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.com", "-c", "protocol.file.allow=always"];

function git(directory: string, ...args: string[]): string {
  return execFileSync("git", [...identity, ...args], { cwd: directory, encoding: "utf8", stdio: "pipe" });
}

function makeRepository(directory: string): void {
  execFileSync("mkdir", ["-p", directory]);
  git(directory, "init", "--quiet");
  git(directory, "commit", "--quiet", "--allow-empty", "--message", "first");
}

/** What each command said, one after the other, in one sandbox. */
async function inSandbox(...commands: string[]): Promise<{ outputs: string[]; warnings: string[] }> {
  const { exec, environment, warnings } = await openWorld(place, "workspace");
  try {
    const outputs: string[] = [];
    for (const command of commands) outputs.push((await exec(command)).output);
    return { outputs, warnings };
  } finally {
    await environment.dispose();
  }
}

/** What git would run or obey on the host, tried in every way; `gone` when it could be changed. */
function attack(gitDirectory: string): string {
  return [
    `touch ${gitDirectory}/hooks/pre-commit`,
    `echo x >> ${gitDirectory}/config`,
    `mv ${gitDirectory}/hooks ${gitDirectory}/hooks-aside`,
    `rm -rf ${gitDirectory}/hooks ${gitDirectory}/config`,
    `mv ${gitDirectory}/config ${gitDirectory}/config-aside`,
    `mv ${gitDirectory} ${gitDirectory}-aside`,
    `ln -sfn /tmp ${gitDirectory}/hooks/../hooks`,
    `mkdir ${gitDirectory}/hooks/below`,
  ]
    .map((line) => `(${line}) 2>/dev/null && test ! -e ${gitDirectory}/hooks/hooks && echo gone: '${line}'`)
    .concat("true")
    .join("; ");
}

describe("hooks and configuration of a repository stay as they are", () => {
  it("in the Workspace, where git works", async () => {
    makeRepository(place.workspaceDir);
    const config = await readFile(join(place.workspaceDir, ".git/config"), "utf8");
    const { outputs } = await inSandbox(
      attack(".git"),
      `git ${identity.join(" ")} commit -q --allow-empty -m second && git status --short && git log --format=%s && git gc -q && git branch other && git checkout -q other`,
      "git config --local core.fsmonitor 'touch pwned'",
    );
    expect(outputs[0]).toBe("[no output]\n[exit code: 0]");
    expect(outputs[1]).toBe("second\nfirst\n[exit code: 0]");
    expect(outputs[2]).toContain("could not write config file");
    expect(await readFile(join(place.workspaceDir, ".git/config"), "utf8")).toBe(config);
    expect(git(place.workspaceDir, "log", "--format=%s")).toBe("second\nfirst\n");
  });

  it("also when there are none yet", async () => {
    makeRepository(place.workspaceDir);
    await rm(join(place.workspaceDir, ".git/hooks"), { recursive: true });
    await rm(join(place.workspaceDir, ".git/config"));
    const { outputs } = await inSandbox(attack(".git"));
    expect(outputs).toEqual(["[no output]\n[exit code: 0]"]);
    expect(await readdir(join(place.workspaceDir, ".git/hooks"))).toEqual([]);
  });

  it("in a directory of the Workspace, a bare repository, a submodule and its parent", async () => {
    const { workspaceDir, outsideDir } = place;
    makeRepository(join(outsideDir, "module"));
    makeRepository(join(workspaceDir, "one/two/nested"));
    git(workspaceDir, "init", "--quiet", "--bare", "kept.git");
    makeRepository(join(workspaceDir, "parent"));
    git(join(workspaceDir, "parent"), "submodule", "--quiet", "add", join(outsideDir, "module"), "part");
    const directories = ["one/two/nested/.git", "kept.git", "parent/.git", "parent/.git/modules/part"];
    const { outputs } = await inSandbox(
      ...directories.map(attack),
      "for d in one one/two one/two/nested parent parent/.git/modules; do mv $d $d-aside && echo moved $d; done 2>/dev/null",
      "echo 'gitdir: /tmp' > parent/part/.git; rm -f parent/part/.git; mv parent/part parent/aside; cat parent/part/.git",
      "git -C one/two/nested status --short && git -C parent/part status --short",
    );
    expect(outputs.slice(0, 4)).toEqual(directories.map(() => "[no output]\n[exit code: 0]"));
    expect(outputs[4]).toBe("[no output]\n[exit code: 1]");
    expect(outputs[5]).toMatch(/gitdir: \.\.\/\.git\/modules\/part\n\[exit code: 0\]$/);
    expect(outputs[6]).toBe("[no output]\n[exit code: 0]");
  });

  it("in a worktree, of which only the Workspace's part can be written", async () => {
    makeRepository(join(place.outsideDir, "main"));
    await rm(place.workspaceDir, { recursive: true });
    git(join(place.outsideDir, "main"), "worktree", "add", "--quiet", place.workspaceDir);
    const { outputs } = await inSandbox(
      "rm -f .git; mv .git aside; echo x > .git; test -e aside || git status --short",
      `git ${identity.join(" ")} commit --allow-empty -m second`,
      `touch ${place.outsideDir}/main/.git/hooks/pre-commit`,
    );
    expect(outputs[0]).toMatch(/\[exit code: 0\]$/);
    expect(outputs[1]).toMatch(/[Rr]ead-only file system[^]*\[exit code: 128\]$/);
    expect(outputs[2]).toMatch(/Read-only file system\n\[exit code: 1\]$/);
  });

  it("also where a configuration includes them, or git obeys one for each worktree", async () => {
    const { workspaceDir, outsideDir } = place;
    makeRepository(workspaceDir);
    git(workspaceDir, "config", "extensions.worktreeConfig", "true");
    git(workspaceDir, "config", "include.path", "../.gitconfig");
    git(workspaceDir, "worktree", "add", "--quiet", "tree");
    await writeFile(join(workspaceDir, ".gitconfig"), "[core]\n");
    const evil = `printf '[core]\\n\\tfsmonitor = "touch ${outsideDir}/ran; false"\\n'`;
    const files = [".gitconfig", ".git/config.worktree", ".git/worktrees/tree/config.worktree"];
    const { outputs } = await inSandbox(
      ...files.map((file) => `mv ${file} ${file}-aside; rm -f ${file}; ${evil} > ${file}`),
      "git status --short && git -C tree status --short",
    );
    git(workspaceDir, "status");
    git(join(workspaceDir, "tree"), "status");
    expect(await readdir(outsideDir)).toEqual([]);
    for (const output of outputs.slice(0, -1)) expect(output).toMatch(/\[exit code: [12]\]$/);
    expect(outputs.at(-1)).toBe("?? .gitconfig\n?? tree/\n[exit code: 0]");
  });

  it("of a worktree of the Workspace, which cannot be led elsewhere", async () => {
    makeRepository(place.workspaceDir);
    git(place.workspaceDir, "worktree", "add", "--quiet", "../outside/tree");
    const { outputs } = await inSandbox(
      "for f in commondir gitdir; do echo /tmp > .git/worktrees/tree/$f || mv .git/worktrees .git/aside; done 2>/dev/null; cat .git/worktrees/tree/commondir",
    );
    expect(outputs).toEqual(["../..\n[exit code: 0]"]);
  });
});

it("file tools make nothing that git obeys in a repository, whether it is there or not", async () => {
  makeRepository(place.workspaceDir);
  const { environment } = await openWorld(place, "workspace");
  const names = ["hooks/pre-commit", "config", "config.worktree", "commondir", "gitdir", "description"];
  const ran = names.map((name) => run(environment, "write_file", { file_path: `.git/${name}`, content: "../other\n" }));
  const statuses = (await Promise.all(ran)).map(({ status }) => status);
  await environment.dispose();
  expect(statuses).toEqual([...Array.from({ length: 5 }, () => "failed"), "completed"]);
});

describe("of a Workspace that is no repository", () => {
  it("nothing is made on the host, and a command may make one", async () => {
    const { outputs } = await inSandbox("ls -A", "git init --quiet && git status --short");
    expect(outputs).toEqual(["[no output]\n[exit code: 0]", "[no output]\n[exit code: 0]"]);
    await rm(join(place.workspaceDir, ".git"), { recursive: true });
    await inSandbox("true");
    expect(await readdir(place.workspaceDir)).toEqual([]);
  });
});

it("tells of links that it cannot protect, and of a configuration that leads elsewhere", async () => {
  const { workspaceDir, outsideDir } = place;
  makeRepository(join(outsideDir, "other"));
  await symlink(join(outsideDir, "other/.git"), join(workspaceDir, ".git"));
  makeRepository(join(workspaceDir, "sub"));
  await rm(join(workspaceDir, "sub/.git/hooks"), { recursive: true });
  await symlink("../..", join(workspaceDir, "sub/.git/hooks"));
  makeRepository(join(workspaceDir, "led"));
  await writeFile(join(workspaceDir, "led/.git/commondir"), "../../evil");
  const { warnings, outputs } = await inSandbox("touch .git/hooks/pre-commit");
  expect(warnings).toEqual([
    `${workspaceDir}/.git is a link: commands can put another repository into its place`,
    expect.stringContaining(`${workspaceDir}/led/.git/commondir makes git obey another configuration`),
    `${workspaceDir}/sub/.git/hooks is a link: commands can put something else into its place`,
  ]);
  expect(outputs[0]).toContain("Read-only file system");
});

describe("what is hidden stays hidden", () => {
  it("when our home lies within the Workspace", async () => {
    const coxswainHome = join(place.workspaceDir, "deep/er/.coxswain");
    await mkdir(coxswainHome, { recursive: true });
    await writeFile(join(coxswainHome, "project_config.toml"), secret);
    place = { ...place, coxswainHome };
    const { outputs } = await inSandbox(
      "mv deep deep-aside; mv deep/er deep/er-aside; rm -rf deep; mkdir -p deep/er; true",
      `grep -r ${secret} .`,
      "ls -A deep/er/.coxswain",
    );
    expect(outputs[1]).toBe("[no output]\n[exit code: 1]");
    expect(outputs[2]).toBe("scratchpad\n[exit code: 0]");
    expect(await readFile(join(coxswainHome, "project_config.toml"), "utf8")).toBe(secret);
  });

  it("when the Workspace lies within our home, or is reached by a link", async () => {
    const workspaceDir = join(place.coxswainHome, "workspaces/one");
    await mkdir(workspaceDir, { recursive: true });
    await symlink(place.coxswainHome, join(place.root, "linked"));
    place = { ...place, workspaceDir: join(place.root, "linked/workspaces/one") };
    const { outputs } = await inSandbox("echo x > made && pwd -P", `grep -r ${secret} ../..`, "touch ../other");
    expect(outputs[0]).toBe(`${workspaceDir}\n[exit code: 0]`);
    expect(outputs[1]).toBe("[no output]\n[exit code: 1]");
    expect(outputs[2]).toContain("Read-only file system");
    expect(existsSync(join(workspaceDir, "made"))).toBe(true);
  });

  it("when the person's home is the Workspace, of which he is told", async () => {
    place = { ...place, workspaceDir: place.home };
    const { outputs, warnings } = await inSandbox(
      `mv .ssh aside; rm -rf .ssh .netrc; cat .netrc; ls .ssh; grep -rs ${secret} .`,
    );
    expect(outputs[0]).not.toContain(secret);
    expect(await readFile(join(place.home, ".ssh/id_test"), "utf8")).toBe(secret);
    expect(warnings).toEqual([expect.stringContaining(`the Workspace holds ${place.home}`)]);
  });

  it("when it comes to be only after the first command, or is reached by a link", async () => {
    const { exec, environment } = await openWorld(place, "workspace");
    onTestFinished(() => environment.dispose());
    await exec("true");
    await mkdir(join(place.home, "dotfiles"));
    await writeFile(join(place.home, "dotfiles/aws"), secret);
    await symlink("dotfiles", join(place.home, ".aws"));
    expect((await exec(`grep -r ${secret} ${place.home}`)).output).toBe("[no output]\n[exit code: 1]");
  });
});
