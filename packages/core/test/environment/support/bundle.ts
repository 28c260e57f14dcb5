import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** A program in TypeScript with all that it needs in one file that Node runs. */
export async function bundle(program: URL): Promise<{ path: string } & AsyncDisposable> {
  const directory = await mkdtemp(join(tmpdir(), "environment-program-"));
  const name = basename(program.pathname, ".ts");
  await build({
    root: source("../../../../.."),
    configFile: false,
    logLevel: "error",
    resolve: { alias: { "@coxswain/protocol": source("../../../../protocol/src/index.ts") } },
    ssr: { noExternal: true },
    build: {
      ssr: fileURLToPath(program),
      outDir: directory,
      emptyOutDir: true,
      target: "node20",
      rollupOptions: { output: { entryFileNames: `${name}.mjs` } },
    },
  });
  return {
    path: join(directory, `${name}.mjs`),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}
