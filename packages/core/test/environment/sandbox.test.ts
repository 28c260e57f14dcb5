import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { architectures } from "../../src/environment/sandbox/architectures.ts";
import { bubblewrapArguments, type BubblewrapSettings } from "../../src/environment/sandbox/bubblewrap-sandbox.ts";
import { findProgram, programDirectories } from "../../src/environment/sandbox/find-program.ts";
import { layerAround, layersOf, looseMounts, type Mount } from "../../src/environment/sandbox/mounts.ts";
import { openSandbox, type SandboxOptions } from "../../src/environment/sandbox/open-sandbox.ts";
import { protectedFiles } from "../../src/environment/sandbox/repositories.ts";
import { socketFilter } from "../../src/environment/sandbox/socket-filter.ts";

async function temporary(): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "sandbox-test-")));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  return root;
}

describe("layers", () => {
  const root: Mount = { at: "/", kind: "read" };

  test("come from the shallowest on, and the last of several at one path counts", () => {
    const layers = layersOf([
      { at: "/a/b", kind: "nothing" },
      { at: "/a", kind: "read" },
      root,
      { at: "/a/b", kind: "read", from: "/x" },
    ]);
    expect(layers).toEqual([root, { at: "/a", kind: "read" }, { at: "/a/b", kind: "read", from: "/x" }]);
  });

  test("hold every directory on the way from what can be written to what cannot", () => {
    const layers = layersOf([
      root,
      { at: "/ws", kind: "write" },
      { at: "/ws/a/b/.git/hooks", kind: "read" },
      { at: "/ws/a/b/.git/config", kind: "read", isFile: true },
      { at: "/ws/a/c/secret", kind: "nothing" },
    ]);
    expect(layers.filter(({ kind }) => kind === "write").map(({ at }) => at)).toEqual([
      "/ws",
      "/ws/a",
      "/ws/a/c",
      "/ws/a/b",
      "/ws/a/b/.git",
    ]);
  });

  test("in a directory that stands for another one are those of that one, and nothing is hidden there", () => {
    const layers = layersOf([
      root,
      { at: "/tmp", kind: "write", from: "/pad/tmp" },
      { at: "/tmp/x/ws", kind: "write" },
      { at: "/tmp/x/home", kind: "nothing" },
    ]);
    expect(layers).toEqual([
      root,
      { at: "/tmp", kind: "write", from: "/pad/tmp" },
      { at: "/tmp/x", kind: "write", from: "/pad/tmp/x" },
      { at: "/tmp/x/ws", kind: "write" },
    ]);
  });

  test("do not hide again what is hidden, and show what lies deeper", () => {
    const layers = layersOf([
      root,
      { at: "/home/u/.c", kind: "nothing" },
      { at: "/home/u/.c/ws/.c2", kind: "nothing" },
      { at: "/home/u/.c/ws", kind: "write" },
      { at: "/home/u/.c/x/y", kind: "nothing" },
    ]);
    expect(layers.map(({ at }) => at)).toEqual(["/", "/home/u/.c", "/home/u/.c/ws", "/home/u/.c/ws/.c2"]);
    expect(layerAround(layers, "/home/u/.c/ws/deep")?.at).toBe("/home/u/.c/ws");
    expect(layerAround(layers, "/home/u/.config")?.at).toBe("/");
  });

  test("of a screen are what it shows, unless it is hidden or stands within what can be written to", () => {
    const screen = (at: string, ...names: string[]): Mount[] => [
      ...names.map((name): Mount => ({ at: `${at}/${name}`, kind: "read", isShown: true })),
      { at, kind: "screen", shows: new Set(names.map((name) => `${at}/${name}`)) },
    ];
    const wanted = [
      ...screen("/u", "code", "seen"),
      ...screen("/u/.ssh", "hidden"),
      ...screen("/u/.not-shown", "neither"),
      ...screen("/u/code", "ws"),
      ...screen("/ws/u", "in-the-workspace"),
      ...screen("/cox/keys", "hidden"),
    ];
    const layers = layersOf([
      root,
      ...wanted,
      { at: "/u/code/ws", kind: "write" },
      { at: "/ws", kind: "write" },
      { at: "/u/.ssh", kind: "nothing" },
      { at: "/cox", kind: "nothing" },
    ]);
    const paths = ["/", "/u", "/ws", "/cox", "/u/code", "/u/seen", "/u/code/ws"];
    expect(layers.map(({ at }) => at)).toEqual(paths);
  });

  test("are loose where somebody outside can put something else in their place and no screen is around them", () => {
    const layers = layersOf([
      root,
      { at: "/etc/shadow", kind: "nothing", isFile: true },
      { at: "/run", kind: "nothing" },
      { at: "/ws", kind: "write" },
      { at: "/ws/.git/config", kind: "read", isFile: true },
      { at: "/tmp", kind: "write", from: "/pad/tmp" },
      { at: "/tmp/seen", kind: "read" },
      { at: "/u/.npmrc", kind: "nothing", isFile: true },
      { at: "/u/code", kind: "read", isShown: true },
      { at: "/u", kind: "screen", shows: new Set(["/u/code"]) },
    ]);
    expect(looseMounts(layers)).toEqual(expect.arrayContaining(["/etc/shadow", "/ws/.git/config"]));
    for (const path of ["/run", "/ws", "/tmp", "/tmp/seen", "/u", "/u/code", "/u/.npmrc"]) {
      expect(looseMounts(layers)).not.toContain(path);
    }
  });
});

test("bubblewrap is told all that holds a command, and in strict of network and filter too", () => {
  const settings: BubblewrapSettings = {
    program: "/usr/bin/bwrap",
    isStrict: false,
    workspaceDir: "/ws",
    scratchpadDir: "/pad",
    privateDir: "/pad/private",
    temporaryDir: "/pad/tmp",
    emptyFile: "/pad/empty",
    hiddenPaths: [],
    screenedPaths: [],
    protectedPaths: [],
    canDisableNamespaces: true,
    filter: undefined,
    isSuperuser: false,
  };
  const layers: Mount[] = [
    { at: "/", kind: "read" },
    { at: "/run", kind: "nothing" },
    { at: "/tmp", kind: "write", from: "/pad/tmp" },
    { at: "/home/u/.netrc", kind: "nothing", isFile: true },
  ];
  const told = bubblewrapArguments(settings, layers, "/ws/sub").join(" ");
  const always =
    /^--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try (?:--unshare-net )?--disable-userns --cap-drop ALL --new-session --die-with-parent (?:--seccomp 4 )?--ro-bind \/ \/ --dev \/dev --proc \/proc (?:--remount-ro \/proc )?--perms 0700 --tmpfs \/run --bind \/pad\/tmp \/tmp --ro-bind \/pad\/empty \/home\/u\/.netrc --remount-ro \/run --chdir \/ws\/sub$/;
  expect(told).toMatch(always);
  expect(told).not.toMatch(/--unshare-net|--seccomp|--remount-ro \/proc/);
  const strict = bubblewrapArguments(
    { ...settings, isStrict: true, filter: Buffer.alloc(8), isSuperuser: true },
    layers,
    "/ws/sub",
  ).join(" ");
  expect(strict).toMatch(always);
  expect(strict).toMatch(/--unshare-net .*--seccomp 4 .*--remount-ro \/proc /);
});

/** What the kernel makes of the program: the value that its last instruction gives. */
function filtered(program: Buffer, call: { number: number; auditId: number; args?: number[] }): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number, 0);
  data.writeUInt32LE(call.auditId, 4);
  for (const [index, value] of (call.args ?? []).entries()) data.writeUInt32LE(value, 16 + index * 8);
  let accumulator = 0;
  for (let at = 0; at < program.length; at += 8) {
    const [code, value] = [program.readUInt16LE(at), program.readUInt32LE(at + 4)];
    const skip = (holds: boolean): void => void (at += 8 * program.readUInt8(at + (holds ? 2 : 3)));
    if (code === 0x20) accumulator = data.readUInt32LE(value);
    else if (code === 0x54) accumulator &= value;
    else if (code === 0x15) skip(accumulator === value);
    else if (code === 0x35) skip(accumulator >= value);
    else if (code === 0x06) return value;
    else throw new Error(`an unknown instruction ${code}`);
  }
  throw new Error("the program has no end");
}

describe.each(Object.entries(architectures))("the filter of calls on %s", (name, architecture) => {
  const program = socketFilter(architecture);
  const { auditId, calls } = architecture;
  const outcome = (number: number, ...args: number[]): string => {
    const value = filtered(program, { number, auditId, args });
    return { 0x7fff0000: "allowed", 0x00050001: "EPERM", 0x00050026: "ENOSYS" }[value] ?? String(value);
  };

  test("lets sockets of a network namespace through, and no other", () => {
    for (const family of [2, 10, 16]) expect(outcome(calls.socket, family, 1)).toBe("allowed");
    for (const family of [0, 1, 17, 31, 38, 40, 42, 0xffffffff]) expect(outcome(calls.socket, family, 1)).toBe("EPERM");
  });

  test("lets pairs through that stay connected, whatever their flags", () => {
    const flags = 0o2004000;
    for (const type of [1, 5]) expect(outcome(calls.socketPair, 1, type | flags)).toBe("allowed");
    for (const type of [2, 3, 0]) expect(outcome(calls.socketPair, 1, type | flags)).toBe("EPERM");
  });

  test("has neither rings that make sockets nor keys of the host, and leaves everything else", () => {
    for (const call of calls.withheld) expect(outcome(call)).toBe("ENOSYS");
    for (const call of [0, 1, 59, 221, 424, 428, 435]) expect(outcome(call)).toBe("allowed");
  });

  test("knows no calls by other numbers", () => {
    expect(filtered(program, { number: 102, auditId: 0x40000003 })).toBe(0x00050026);
    if (name === "x64") expect(outcome(0x40000000 + calls.socket, 1)).toBe("ENOSYS");
  });
});

describe("the repositories of a Workspace", () => {
  test("are looked for only so far, of which a person is told", async () => {
    const root = await temporary();
    for (let index = 0; index < 40; index++) {
      const directory = join(root, `r${index}`, ".git");
      for (const name of ["objects", "refs", "hooks"]) await mkdir(join(directory, name), { recursive: true });
      await writeFile(join(directory, "HEAD"), "ref: refs/heads/main\n");
    }
    const { paths, warnings } = await protectedFiles(root);
    expect(paths.length).toBeLessThan(70);
    expect(warnings).toEqual([expect.stringMatching(/holds more than 32 repositories/)]);
  });

  test("are none, of which nothing is made, where there is none", async () => {
    expect(await protectedFiles(await temporary())).toEqual({ paths: [], warnings: [] });
  });
});

describe("a program", () => {
  test("is not taken from the Workspace, nor from a place that is relative", async () => {
    const root = await temporary();
    const bin = join(root, "ws/node_modules/.bin");
    await mkdir(bin, { recursive: true });
    await mkdir(join(root, "elsewhere"));
    await writeFile(join(bin, "tool"), "");
    await chmod(join(bin, "tool"), 0o755);
    await symlink(join(bin, "tool"), join(root, "elsewhere/tool"));
    expect(findProgram("tool", [bin, join(root, "elsewhere")], [join(root, "ws")])).toBeUndefined();
    expect(findProgram("tool", [bin], [join(root, "other")])).toBe(join(bin, "tool"));
    // What is outside, but by way of a link that is not.
    await symlink("/bin/sh", join(bin, "link"));
    await symlink(join(bin, "link"), join(root, "elsewhere/link"));
    expect(findProgram("link", [bin, join(root, "elsewhere")], [join(root, "ws")])).toBeUndefined();
    expect(findProgram("link", [join(root, "elsewhere")], [join(root, "other")])).toBe(join(root, "elsewhere/link"));
    expect(programDirectories("node_modules/.bin::/opt/bin")).toEqual([
      "/usr/bin",
      "/usr/local/bin",
      "/bin",
      "/opt/bin",
    ]);
  });
});

describe("a sandbox that cannot be had is an error that says what to do", () => {
  async function refusal(more: Partial<SandboxOptions>, script?: string): Promise<string> {
    const root = await temporary();
    const bin = join(root, "bin");
    await mkdir(bin);
    await mkdir(join(root, "ws"));
    if (script !== undefined) await writeFile(join(bin, "bwrap"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const options: SandboxOptions = {
      level: "strict",
      workspaceDir: join(root, "ws"),
      scratchpadDir: join(root, "home/pad"),
      hiddenPaths: [join(root, "home")],
      programDirs: [bin],
      platform: "linux",
      ...more,
    };
    return openSandbox({ ...options }).then(
      () => "none",
      (error: unknown) => String(error).replaceAll(root, ""),
    );
  }

  test("on another system or processor", async () => {
    expect(await refusal({ platform: "darwin" })).toMatch(/on Linux only, not on darwin: set sandbox = "off"$/);
    expect(await refusal({ architecture: "s390x" }, "exit 0")).toMatch(
      /"strict" is to be had on x64 and arm64 only, not on s390x: set sandbox = "workspace"$/,
    );
  });

  test("without the program", async () => {
    expect(await refusal({})).toMatch(
      /there is no program bwrap on this machine: install it \(Debian, Ubuntu: apt-get install bubblewrap; .*\), or set sandbox = "off"/,
    );
  });

  test("when the program does not work", async () => {
    const script = "echo 'bwrap: No permissions to create new namespace' >&2; exit 1";
    expect(await refusal({}, script)).toMatch(
      /\/bin\/bwrap does not work here: No permissions to create new namespace; it needs user namespaces: allow them/,
    );
    expect(await refusal({}, "echo 'bwrap: Unknown option --unshare-cgroup-try' >&2; exit 1")).toMatch(/is too old/);
    expect(await refusal({}, "kill -TERM $$")).toMatch(/does not work here: it ended with SIGTERM/);
  });

  test("for a Workspace that holds what runs outside of it", async () => {
    const words =
      /the Workspace is \/\S*, where commands could change \/\S+ and so what runs outside: choose a directory that holds nothing/;
    for (const workspaceDir of ["/", "/usr", "/etc"]) expect(await refusal({ workspaceDir }, "exit 0")).toMatch(words);
    const root = await temporary();
    await writeFile(join(root, "bwrap"), "#!/bin/sh\n", { mode: 0o755 });
    expect(await refusal({ workspaceDir: root, programDirs: [root] })).toMatch(words);
  });

  test("for a Workspace that it hides", async () => {
    const root = await temporary();
    expect(await refusal({ workspaceDir: root, hiddenPaths: [root] }, "exit 0")).toMatch(/choose another one$/);
  });

  test("and an older program does, which leaves namespaces to commands", async () => {
    const script =
      'case "$(tr "\\\\0" " " <&3)" in *--disable-userns*) echo "bwrap: Unknown option --disable-userns" >&2; exit 1;; esac';
    expect(await refusal({ level: "workspace" }, script)).toBe("none");
  });
});
