/** Entry of the thread that lists and searches. */
import { parentPort, workerData } from "node:worker_threads";
import { wordsOf } from "../../shared/error-words.ts";
import { ToolError } from "../tool-error.ts";
import { fileError } from "./file-error.ts";
import { runSearch, type SearchJob } from "./search-files-in.ts";

const job = workerData as SearchJob;
try {
  parentPort?.postMessage({ output: runSearch(job) });
} catch (thrown) {
  const error = fileError(job.root, thrown);
  parentPort?.postMessage(error instanceof ToolError ? { refusal: error.message } : { error: wordsOf(error) });
}
