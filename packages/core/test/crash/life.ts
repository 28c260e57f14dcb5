/** One process: what it is told, and how it ends. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import type { Moment, Work } from "./scenarios.ts";

export interface Life extends Work {
  home: string;
  workspace: string;
  /** A line for each beginning and each end of a piece of work. */
  effectsFile: string;
  /** Where it says where it dies. */
  deathFile: string;
  /** Where it says how many moments it had, when it comes to its end. */
  momentsFile: string;
  /** Number of the moment to die at, from 1. */
  dieAt?: number | undefined;
  /** The moment to die at, by its name, when it has come so often. */
  dieWhere?: Moment | undefined;
  /** Default: a new one. */
  sessionId?: string | undefined;
}

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The program of `child.ts` with all that it needs in one file: hundreds of processes are to start quickly. */
export async function bundleProgram(): Promise<{ path: string } & AsyncDisposable> {
  const directory = await mkdtemp(join(tmpdir(), "coxswain-crash-program-"));
  await build({
    root: source("../../../.."),
    configFile: false,
    logLevel: "error",
    resolve: {
      alias: {
        "@coxswain/protocol": source("../../../protocol/src/index.ts"),
        "@coxswain/core": source("../../src/index.ts"),
      },
    },
    ssr: { noExternal: true },
    build: {
      ssr: fileURLToPath(new URL("./child.ts", import.meta.url)),
      outDir: directory,
      emptyOutDir: true,
      target: "node20",
      minify: true,
      rollupOptions: { output: { entryFileNames: "child.mjs" } },
    },
  });
  return {
    path: join(directory, "child.mjs"),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}

/** @returns Where it died; `undefined` when it came to its end. */
export async function live(program: string, life: Life): Promise<string | undefined> {
  const child = spawn(process.execPath, [program, JSON.stringify(life)], { stdio: ["ignore", "ignore", "pipe"] });
  let problem = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (problem += text));
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  if (code === 0) return undefined;
  if (signal === "SIGKILL" && fs.existsSync(life.deathFile)) return fs.readFileSync(life.deathFile, "utf8");
  throw new Error(`the process failed (${code ?? signal}): ${problem}`);
}
