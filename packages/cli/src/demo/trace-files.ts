/** What the demo's Session has left on disk, read as plain lines: nothing of the engine has a hand in it. */
import { readFile } from "node:fs/promises";
import { FileTraceStore } from "@coxswain/core";
import { type OmniMessage, parseOmniMessage } from "@coxswain/protocol";

export interface DemoTrace {
  /** Oldest first. */
  files: string[];
  messages: OmniMessage[];
}

export async function readDemoTrace(tracesDir: string, sessionId: string): Promise<DemoTrace> {
  const store = new FileTraceStore({ tracesDir });
  const contexts = await store.contexts(sessionId);
  const files = await Promise.all(contexts.map((context) => store.path(sessionId, context)));
  const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
  const lines = texts.flatMap((text) => text.split("\n")).filter((line) => line !== "");
  return { files, messages: lines.map((line) => parseOmniMessage(JSON.parse(line))) };
}
