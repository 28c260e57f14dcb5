/** The command with what most of it needs in one file: it starts in half of the time. */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Path of the command. Default: as it is built. */
    program?: string;
  }
}

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), "cox-one-file-"));
  await build({
    root: source("../../.."),
    configFile: false,
    logLevel: "error",
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir: join(directory, "dist"),
      target: "node20",
      minify: true,
      rollupOptions: {
        input: [source("../dist/main.js"), source("../../core/dist/environment/files/search-worker.js")],
        output: { entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" },
      },
    },
  });
  for (const name of ["package.json", "bin"])
    await cp(source(`../${name}`), join(directory, name), { recursive: true });
  project.provide("program", join(directory, "bin/cox.js"));
  return () => rm(directory, { recursive: true, force: true });
}
