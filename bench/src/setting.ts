/** Real Sessions for the workloads: the public SDK, a home of their own, the file Trace. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Agent,
  type AgentOptions,
  type ApproveFn,
  createAgent,
  createBuilders,
  defineTool,
  FileTraceStore,
  isPartial,
  type OmniMessage,
  projectPaths,
  type Session,
} from "@coxswain/core";

export const build = createBuilders(() => Date.now());

export const approve: ApproveFn = () => Promise.resolve("allow");

export class Setting {
  readonly home: string;
  readonly store: FileTraceStore;

  private constructor(home: string) {
    this.home = home;
    this.store = new FileTraceStore({ tracesDir: projectPaths(home, "default_project", "default_agent").tracesDir });
  }

  static async open(): Promise<Setting> {
    return new Setting(await mkdtemp(join(tmpdir(), "coxswain-bench-")));
  }

  agent(options: AgentOptions): Promise<Agent> {
    return createAgent({ home: this.home, systemPrompt: "bench", maxTurns: -1, ...options });
  }

  /** @throws when a record that the reader saw is not in the Trace, or stands elsewhere in it */
  async checkRecords(session: Session, seen: readonly OmniMessage[]): Promise<void> {
    const { messages, skippedLines, tornTail } = await this.store.read(session.id);
    const shown = seen.filter((message) => !isPartial(message));
    const written = messages.filter(
      ({ payload }) => !("role" in payload) || payload.role !== "user" || payload.type === "tool_call_output",
    );
    const records = written.filter(({ type }) => type !== "session_meta");
    if (JSON.stringify(records) !== JSON.stringify(shown) || skippedLines.length > 0 || tornTail) {
      throw new Error(`session ${session.id}: ${shown.length} records were shown, ${records.length} are in its Trace`);
    }
  }

  async close(): Promise<void> {
    await rm(this.home, { recursive: true, force: true });
  }
}

export const echoTool = defineTool({
  name: "echo",
  description: "Says it again.",
  parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  permission: "r",
  execute: ({ text }) => String(text),
});

/** Drives a Task and gives what it streamed. */
export async function read(session: Session, text: string): Promise<OmniMessage[]> {
  const seen: OmniMessage[] = [];
  for await (const message of session.run([build.userText(text)], { approve })) seen.push(message);
  return seen;
}
