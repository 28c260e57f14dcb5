import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { bundle } from "../test/environment/support/bundle.ts";
import type { FloodTold } from "./flood-program.ts";

const mebibyte = 1024 * 1024;

let program: string;

beforeAll(async () => {
  const bundled = await bundle(new URL("./flood-program.ts", import.meta.url));
  program = bundled.path;
  return () => bundled[Symbol.asyncDispose]();
});

async function flood(cmd: string, where: string): Promise<FloodTold & { kept: number[] }> {
  const root = await mkdtemp(join(tmpdir(), "flood-test-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const [workspaceDir, scratchpadDir] = [join(root, "ws"), join(root, "scratchpad")];
  await mkdir(workspaceDir);
  const { stdout } = await promisify(execFile)(process.execPath, [program, workspaceDir, scratchpadDir, cmd, where]);
  const files = await readdir(join(scratchpadDir, "outputs"));
  const sizes = files.map(async (file) => (await stat(join(scratchpadDir, "outputs", file))).size);
  return { ...(JSON.parse(stdout) as FloodTold), kept: await Promise.all(sizes) };
}

const line = "a line of an ordinary length, as a program that tells what it does prints it";

test.each([
  ["lines", `yes '${line}' | head -c ${1024 * mebibyte}; echo; echo end; exit 3`],
  ["one line", `head -c ${1024 * mebibyte} /dev/zero | tr '\\0' x; echo; echo end; exit 3`],
])(
  "a gigabyte in %s takes little memory and little of the disk, in front and in the background",
  async (_, cmd) => {
    for (const where of ["front", "background"]) {
      const { output, grownBytes, kept } = await flood(cmd, where);
      expect(output).toContain("[exit code: 3]");
      expect(output).toContain("end\n");
      expect(output).toMatch(/10\d{8} characters left out; the first 8 MiB are in/);
      expect(grownBytes).toBeLessThan(150 * mebibyte);
      expect(Math.max(...kept)).toBe(8 * mebibyte);
    }
  },
  400_000,
);
