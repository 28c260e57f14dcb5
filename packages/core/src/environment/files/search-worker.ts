/** Entry of the thread that lists and searches. */
import { parentPort, workerData } from "node:worker_threads";
import { runSearch, type SearchJob } from "./search-files-in.ts";

try {
  parentPort?.postMessage({ output: runSearch(workerData as SearchJob) });
} catch (error) {
  parentPort?.postMessage({ error: error instanceof Error ? error.message : String(error) });
}
