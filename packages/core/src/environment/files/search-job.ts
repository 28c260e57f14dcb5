/**
 * Runs a search in a thread of its own: a regular expression of the model, a glob or a .gitignore that does not come to
 * an end stops nobody else, and ends with the call.
 */
import { Worker } from "node:worker_threads";
import { ToolError } from "../tool-error.ts";
import type { SearchJob } from "./search-files-in.ts";

const maxHeapMb = 256;

/** @throws ToolError when what was asked for cannot be looked at; Error when the search fails or is stopped. */
export async function runSearchJob(job: SearchJob, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  checkOwnDirectory();
  const worker = new Worker(workerUrl(), {
    workerData: job,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });
  const stop = (): void => void worker.terminate();
  signal.addEventListener("abort", stop);
  try {
    return await new Promise<string>((resolve, reject) => {
      worker.once("message", (message: { output?: string; refusal?: string; error?: string }) => {
        if (message.output !== undefined) resolve(message.output);
        else if (message.refusal !== undefined) reject(new ToolError(message.refusal));
        else reject(new Error(message.error ?? "The search gave no result."));
      });
      worker.once("error", reject);
      worker.once("exit", () => reject(new Error("The search was stopped before it came to an end.")));
    });
  } finally {
    signal.removeEventListener("abort", stop);
    await worker.terminate();
  }
}

/** Without it no thread starts. */
function checkOwnDirectory(): void {
  try {
    process.cwd();
  } catch {
    throw new ToolError(
      "The directory in which Coxswain was started is gone: start it again in one that is there, or look by a command.",
    );
  }
}

/** A thread loads what was built, also when this file runs from source. */
function workerUrl(): URL {
  const url = new URL("./search-worker.js", import.meta.url);
  if (import.meta.url.endsWith(".ts"))
    url.pathname = url.pathname.replace(/\/src\/environment\/files\/(?=[^/]+$)/, "/dist/environment/files/");
  return url;
}
