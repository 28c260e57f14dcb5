import { copyFile, link, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ChildProcess } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { run } from "../test/environment/support.ts";
import {
  type Level,
  makePlace,
  openWorld,
  type Place,
  removePlace,
  secret,
  startBystander,
  type World,
} from "./support/sandboxed-world.ts";
import { type Listeners, listenOnHost, ownAddress } from "./support/listeners.ts";

const node = JSON.stringify(process.execPath);
const levels: Level[] = ["off", "workspace", "strict"];
const abstract = `coxswain-system-test-${process.pid}`;
const temporarySocket = `/tmp/${abstract}.sock`;

let place: Place;
/** A command line that goes on with whom to reach. */
let client: string;
let listeners: Listeners;
let bystander: ChildProcess;
const worlds = new Map<Level, World>();

beforeAll(async () => {
  place = await makePlace();
  vi.stubEnv("HOME", place.home);
  bystander = startBystander();
  const { workspaceDir, outsideDir, home } = place;
  await writeFile(join(outsideDir, "file"), "as it was");
  await copyFile(new URL("support/client.mjs", import.meta.url), join(outsideDir, "client.mjs"));
  client = `${node} ${join(outsideDir, "client.mjs")}`;
  await symlink(outsideDir, join(workspaceDir, "out"));
  await mkdir(join(workspaceDir, "sub"));
  listeners = await listenOnHost([
    join(workspaceDir, "door.sock"),
    join(home, "door.sock"),
    temporarySocket,
    `\0${abstract}`,
  ]);
  for (const level of levels) worlds.set(level, await openWorld(place, level));
});

afterAll(async () => {
  await Promise.all([...worlds.values()].map(({ environment }) => environment.dispose()));
  bystander.kill("SIGKILL");
  await listeners.close();
  await removePlace(place);
  vi.unstubAllEnvs();
});

/** The same command at each level: its exit code says whether it got what it wanted. */
async function outcomes(command: (level: Level) => string): Promise<Record<string, boolean>> {
  const results = await Promise.all(
    levels.map(async (level) => {
      const ran = await worlds.get(level)?.exec(command(level));
      const code = /\[exit code: (\d+)\]$/.exec(ran?.output ?? "")?.[1];
      if (code === undefined) throw new Error(`no exit code at ${level}: ${ran?.output}`);
      return [level, code === "0"] as const;
    }),
  );
  return Object.fromEntries(results);
}

const onlyWithout = { off: true, workspace: false, strict: false };
const notInStrict = { off: true, workspace: true, strict: false };
const always = { off: true, workspace: true, strict: true };

describe("a command writes outside of the Workspace only without a sandbox", () => {
  const rows: [string, (level: Level, place: Place) => string][] = [
    ["by an absolute path", (level, { outsideDir }) => `echo x > ${outsideDir}/absolute-${level}`],
    ["by ..", (level) => `echo x > ../outside/above-${level}`],
    ["by a link in the Workspace", (level) => `echo x > out/linked-${level}`],
    ["by a new hard link", (level, { outsideDir }) => `ln ${outsideDir}/file hard-${level} && echo x >> hard-${level}`],
    [
      "by the root of its own process",
      (level, { outsideDir }) => `echo x > /proc/self/root${outsideDir}/self-${level}`,
    ],
    ["by the root of its parent", (level, { outsideDir }) => `echo x > /proc/$PPID/root${outsideDir}/parent-${level}`],
    ["by its working directory", (level) => `echo x > /proc/self/cwd/../outside/cwd-${level}`],
    ["to the person's home", (level, { home }) => `echo x > ${home}/.profile-${level}`],
    [
      "by removing",
      (level, { outsideDir }) => `touch ${outsideDir}/removed-${level}; rm ${outsideDir}/removed-${level}`,
    ],
    ["by a time that it sets", (_, { outsideDir }) => `touch ${outsideDir}/file`],
    [
      "by a sandbox within",
      (level, { outsideDir }) => `bwrap --bind / / --dev /dev -- sh -c 'echo x > ${outsideDir}/nested-${level}'`,
    ],
    ["by mounts in a namespace of its own", () => "unshare --user --map-root-user --mount mount -t tmpfs none sub"],
  ];
  it.each(rows)("%s", async (_, command) => {
    expect(await outcomes((level) => command(level, place))).toEqual(onlyWithout);
  });

  it("not even by mounting again what is read-only", async () => {
    const { outsideDir } = place;
    const command = (level: Level): string =>
      `mount -o remount,rw,bind / 2>&1; mount -o remount,rw,bind ${outsideDir} 2>&1; echo x > ${outsideDir}/again-${level}`;
    expect(await outcomes((level) => (level === "off" ? "true" : command(level)))).toEqual(onlyWithout);
  });

  it("and in the Workspace, in /tmp and where TMPDIR says always", async () => {
    expect(await outcomes((level) => `echo x > written-${level}`)).toEqual(always);
    expect(await outcomes((level) => `echo x > /tmp/${abstract}-${level} && rm /tmp/${abstract}-${level}`)).toEqual(
      always,
    );
    expect(await outcomes(() => 'f=$(mktemp) && echo x > "$f" && rm "$f"')).toEqual(always);
    expect(await readFile(join(place.workspaceDir, "written-strict"), "utf8")).toBe("x\n");
  });

  it("but a second name that a file has in the Workspace already is a way out", async () => {
    await link(join(place.outsideDir, "file"), join(place.workspaceDir, "second-name"));
    expect(await outcomes(() => "echo x >> second-name")).toEqual(always);
  });
});

describe("a command reaches", () => {
  const network: [string, () => string][] = [
    ["a program of the host at 127.0.0.1", () => `tcp 127.0.0.1 ${listeners.tcpPort}`],
    ["a program of the host at ::1", () => `tcp ::1 ${listeners.tcpPort}`],
    ["a program of the host at an address of its network", () => `tcp ${ownAddress()} ${listeners.tcpPort}`],
    ["a program of the host by UDP", () => `udp ${listeners.udpPort}`],
    ["a name server", () => `dns ${listeners.dnsPort}`],
    ["a socket of the host without a file", () => `unix @${abstract}`],
    ["a socket of the host in the Workspace", () => "unix door.sock"],
    ["a socket of the host elsewhere", () => `unix ${join(place.home, "door.sock")}`],
  ];
  it.each(network)("%s, but not in strict", async (_, target) => {
    expect(await outcomes(() => `${client} ${target()}`)).toEqual(notInStrict);
  });

  it("a socket of the host in /tmp only without a sandbox", async () => {
    expect(await outcomes(() => `${client} unix ${temporarySocket}`)).toEqual(onlyWithout);
  });

  it("what it listens at itself always, and within strict no socket with a file", async () => {
    const listens = (where: string): string =>
      `${node} -e 'const s = require("net").createServer().once("error", () => process.exit(1)).listen(${where}, () => require("net").connect(s.address().port ?? s.address()).once("connect", () => process.exit(0)))'`;
    expect(await outcomes(() => listens("0"))).toEqual(always);
    expect(await outcomes((level) => listens(`"own-${level}.sock"`))).toEqual(notInStrict);
  });

  it("no program of the host by a variable that names one", async () => {
    vi.stubEnv("SSH_AUTH_SOCK", "/run/agent.sock");
    vi.stubEnv("DBUS_SESSION_BUS_ADDRESS", "unix:abstract=/bus");
    vi.stubEnv("DISPLAY", ":0");
    vi.stubEnv("XAUTHORITY", "/run/xauthority");
    vi.stubEnv("DOCKER_HOST", "tcp://127.0.0.1:2375");
    const opened = await Promise.all(levels.map((level) => openWorld(place, level, `variables-${level}`)));
    const found = await Promise.all(
      opened.map(async ({ exec, environment }) => {
        const { output } = await exec(
          "env | grep -cE '^(SSH_AUTH_SOCK|DBUS_SESSION_BUS_ADDRESS|DISPLAY|XAUTHORITY|DOCKER_HOST)='",
        );
        await environment.dispose();
        return output.split("\n")[0];
      }),
    );
    expect(found).toEqual(["5", "0", "0"]);
  });
});

describe("a command sees only without a sandbox", () => {
  const rows: [string, (place: Place) => string][] = [
    ["our home", ({ coxswainHome }) => `grep ${secret} ${coxswainHome}/project_config.toml`],
    ["that there are other sessions", ({ coxswainHome }) => `ls ${coxswainHome}/scratchpad/session-off`],
    ["keys for other machines", ({ home }) => `grep ${secret} ${home}/.ssh/id_test`],
    ["them by way of its own process", ({ home }) => `grep ${secret} /proc/self/root${home}/.ssh/id_test`],
    ["passwords in a file", ({ home }) => `grep ${secret} ${home}/.netrc`],
    ["sockets and states of what runs", () => 'test -n "$(ls /run)"'],
    ["the environment of another process", () => `tr '\\0' '\\n' < /proc/${bystander.pid}/environ | grep ${secret}`],
    ["the memory of another process", () => `exec 3< /proc/${bystander.pid}/mem`],
    ["that another process is there", () => `kill -0 ${bystander.pid}`],
    [
      "the devices of the machine",
      () => "test -e /dev/kmsg || test -e /dev/mem || ls /dev | grep -qE '^(vd|sd|nvme|loop|cpu)'",
    ],
  ];
  it.each(rows)("%s", async (_, command) => {
    await mkdir(join(place.coxswainHome, "scratchpad", "session-off"), { recursive: true });
    expect(await outcomes(() => command(place))).toEqual(onlyWithout);
  });

  it("and its own scratchpad always, without writing to it", async () => {
    const scratchpad = (level: Level): string => join(place.coxswainHome, "scratchpad", `session-${level}`);
    expect(await outcomes((level) => `test -d ${scratchpad(level)}`)).toEqual(always);
    expect(await outcomes((level) => `touch ${scratchpad(level)}/mine`)).toEqual(onlyWithout);
  });

  it("new powers by a program that gives them", async () => {
    expect(await outcomes(() => "grep -qE '^NoNewPrivs:\\s*0' /proc/self/status")).toEqual(onlyWithout);
  });
});

describe("file tools, which run outside of the sandbox,", () => {
  it("neither read what commands do not see nor write where they do not", async () => {
    const { environment } = worlds.get("workspace") ?? (await openWorld(place, "workspace"));
    const ran = await Promise.all([
      run(environment, "read_file", { file_path: join(place.home, ".ssh", "id_test") }),
      run(environment, "write_file", { file_path: join(place.outsideDir, "by-tool"), content: "x" }),
      run(environment, "write_file", { file_path: ".git/hooks/pre-commit", content: "x" }),
      run(environment, "write_file", { file_path: "by-tool", content: "x" }),
    ]);
    expect(ran.map(({ status }) => status)).toEqual(["failed", "failed", "failed", "completed"]);
  });
});
