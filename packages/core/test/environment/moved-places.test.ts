import { mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { writeAtomically } from "../../src/environment/files/atomic-write.ts";
import { FileGuard } from "../../src/environment/files/file-guard.ts";
import { runSearch } from "../../src/environment/files/search-files-in.ts";
import { callOf, createWorld, run } from "./support.ts";

/** What may be written is limited as in a sandbox; `elsewhere` holds a file. */
async function createLimited() {
  const world = await createWorld((root) => ({
    forbiddenFiles: ["/secret.txt"],
    writable: { roots: [join(root, "ws"), join(root, "scratchpad/tmp")], except: [join(root, "ws/.git/config")] },
  }));
  await mkdir(join(world.root, "elsewhere"));
  await writeFile(join(world.root, "elsewhere/secret.txt"), "hidden");
  return world;
}

describe("a Workspace that was turned into a link after the start", () => {
  test("is neither read nor written through by any tool, and nothing is made where it leads", async () => {
    const { environment, root, workspaceDir } = await createLimited();
    await rename(workspaceDir, join(root, "gone"));
    await symlink(join(root, "elsewhere"), workspaceDir);
    const words = `${workspaceDir} leads elsewhere than when this Session began (to ${workspaceDir})`;
    const refused = { status: "failed", output: expect.stringContaining(words) };
    for (const path of [
      "secret.txt",
      join(workspaceDir, "secret.txt"),
      `${workspaceDir}/./x/../secret.txt`,
      "../ws/a",
    ]) {
      expect(await run(environment, "read_file", { file_path: path })).toMatchObject(refused);
      expect(await run(environment, "write_file", { file_path: path, content: "changed" })).toMatchObject(refused);
      const edit = { file_path: path, old_string: "hidden", new_string: "changed" };
      expect(await run(environment, "edit_file", edit)).toMatchObject(refused);
      expect(await environment.preview(callOf("edit_file", edit))).toBeUndefined();
    }
    for (const args of [{}, { path: "." }, { path: workspaceDir }]) {
      expect(await run(environment, "list_files", args)).toMatchObject(refused);
      expect(await run(environment, "search_files", { ...args, pattern: "hidden" })).toMatchObject(refused);
    }
    expect(await run(environment, "exec_command", { cmd: "touch made" })).toMatchObject(refused);
    const direct = { file_path: join(root, "elsewhere/made"), content: "" };
    expect((await run(environment, "write_file", direct)).output).toContain("not allowed in this sandbox");
    expect(await readdir(join(root, "elsewhere"))).toEqual(["secret.txt"]);
    await rm(workspaceDir);
    await rename(join(root, "gone"), workspaceDir);
    expect(await run(environment, "write_file", { file_path: "a", content: "" })).toMatchObject({
      status: "completed",
    });
  });

  test("is refused as well where a directory above it was, and by a path that another link leads through", async () => {
    const { environment, root, workspaceDir } = await createWorld((top) => ({
      workspaceDir: join(top, "outer/ws"),
      writable: { roots: [join(top, "outer/ws")], except: [] },
    }));
    await mkdir(join(root, "outer/ws"), { recursive: true });
    await mkdir(join(root, "elsewhere/ws"), { recursive: true });
    await symlink(join(root, "outer/ws"), join(workspaceDir, "through"));
    await rename(join(root, "outer"), join(root, "gone"));
    await symlink("elsewhere", join(root, "outer"));
    const write = (file_path: string) => run(environment, "write_file", { file_path, content: "" });
    expect((await write("a")).output).toContain("leads elsewhere than when this Session began");
    expect((await write(join(workspaceDir, "through/a"))).output).toContain("not allowed in this sandbox");
    expect(await readdir(join(root, "elsewhere/ws"))).toEqual([]);
  });

  test("between the look at a path and its use leads no write, list or search away", async () => {
    const { root, workspaceDir, scratchpadDir } = await createLimited();
    const guard = new FileGuard({ workspaceDir, scratchpadDir, forbiddenFiles: ["/secret.txt"], forbiddenPaths: [] });
    const realPath = guard.resolveForWriting("sub/new.txt");
    const searched = guard.resolve(".");
    await rename(workspaceDir, join(root, "gone"));
    await symlink(join(root, "elsewhere"), workspaceDir);
    const change = { path: "sub/new.txt", realPath, bytes: Buffer.of(1), seen: undefined };
    await expect(writeAtomically({ ...change, signal: new AbortController().signal })).rejects.toThrow();
    for (const pattern of [undefined, "hidden"]) {
      const job = { guard: structuredClone(guard.options), root: searched, pattern, limit: 10 };
      expect(() => runSearch(job)).toThrow();
    }
    // The thread of a search knows the place from before.
    expect(new FileGuard(structuredClone(guard.options)).workspaceDir).toBe(workspaceDir);
    expect(await readdir(join(root, "elsewhere"))).toEqual(["secret.txt"]);
  });
});

describe("a place that goes on", () => {
  test("is a Workspace behind a link that was there from the start, until it leads elsewhere", async () => {
    const { root } = await createWorld();
    await mkdir(join(root, "real/ws"), { recursive: true });
    await mkdir(join(root, "other/ws"), { recursive: true });
    await symlink("real", join(root, "link"));
    const workspaceDir = join(root, "link/ws");
    const guard = new FileGuard({
      workspaceDir,
      scratchpadDir: join(root, "scratchpad"),
      forbiddenFiles: ["/secret.txt"],
      forbiddenPaths: [],
      writable: { roots: [workspaceDir, join(root, "later/tmp")], except: [] },
    });
    const inside = join(root, "real/ws/a");
    for (const path of ["a", join(workspaceDir, "a"), inside]) expect(guard.resolveForWriting(path)).toBe(inside);
    await mkdir(join(root, "later/tmp"), { recursive: true });
    expect(guard.resolveForWriting(join(root, "later/tmp/a"))).toBe(join(root, "later/tmp/a"));
    await rm(join(root, "link"));
    await symlink("other", join(root, "link"));
    expect(() => guard.resolveForWriting("a")).toThrow(`(to ${join(root, "real/ws")})`);
    expect(guard.resolveForWriting(inside)).toBe(inside);
    expect(() => guard.resolve(join(root, "real/ws/secret.txt"))).toThrow("forbidden_files forbid");
    await rm(join(root, "later"), { recursive: true });
    await symlink("other", join(root, "later"));
    expect(() => guard.resolveForWriting(join(root, "later/tmp/a"))).toThrow("leads elsewhere than when");
  });

  test("is a Workspace that was moved away and made anew, and a scratchpad that is made later", async () => {
    const { environment, root, workspaceDir, scratchpadDir } = await createLimited();
    const write = (file_path: string) => run(environment, "write_file", { file_path, content: "" });
    await rename(workspaceDir, join(root, "gone"));
    await mkdir(workspaceDir);
    await mkdir(join(scratchpadDir, "tmp"), { recursive: true });
    for (const path of ["a", join(scratchpadDir, "tmp/a")]) expect((await write(path)).status).toBe("completed");
    expect(await readdir(workspaceDir)).toEqual(["a"]);
  });

  test("is a file that is not to be written, where it was and where it is", async () => {
    const { environment, workspaceDir } = await createLimited();
    const write = async (file_path: string) =>
      (await run(environment, "write_file", { file_path, content: "" })).output;
    await mkdir(join(workspaceDir, "moved"));
    await symlink("moved", join(workspaceDir, ".git"));
    for (const path of [".git/config", "moved/config"]) expect(await write(path)).toContain("not allowed");
    await rm(join(workspaceDir, ".git"));
    await mkdir(join(workspaceDir, ".git"));
    expect(await write(".git/config")).toContain("not allowed");
    expect(await write("moved/config")).toContain("Created");
  });
});
