/** Entry of the thread that lists and searches. */
import { parentPort, workerData } from "node:worker_threads";
import { wordsOf } from "../../shared/error-words.ts";
import { runSearch, type SearchJob } from "./search-files-in.ts";

try {
  parentPort?.postMessage({ output: runSearch(workerData as SearchJob) });
} catch (error) {
  parentPort?.postMessage({ error: wordsOf(error) });
}
