/**
 * The commands that outlive their call: which run, which have ended without anybody having been told how, and who is
 * to be told. A command that runs in the background belongs to this and to nobody else.
 */
import type { BackgroundReport } from "../../engine/ports.ts";
import { headOf } from "../../shared/cut.ts";
import { gateText } from "../text/text-gate.ts";
import { ToolError } from "../tool-error.ts";
import type { ToolResult } from "../tool.ts";
import type { Command } from "./command.ts";
import { commandReport } from "./command-report.ts";
import { commandLine, endWords, exitNote } from "./command-words.ts";

const maxRunning = 16;
const maxEnded = 32;
/** Ended commands of which it is known that they were. */
const maxRemembered = 256;
const maxQuotedId = 100;

interface Kept {
  readonly command: Command;
  /** Calls that wait for it now: they will tell its end. */
  watches: number;
  /** Whoever listens is still to be told of its end. */
  isReportDue: boolean;
}

type ReportListener = (report: BackgroundReport) => void;

export class BackgroundCommands {
  readonly #running = new Map<string, Kept>();
  /** In the order of their ends; their last output has not been given. */
  readonly #ended = new Map<string, Kept>();
  /** What became of those that are kept no more. */
  readonly #gone = new Map<string, string>();
  readonly #listeners = new Set<ReportListener>();
  readonly #secrets: readonly string[];
  #starting = 0;

  /** @param secrets Masked in all that is told of commands. */
  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  /** @returns Stops it. */
  onReport(listener: ReportListener): () => void {
    const added: ReportListener = (report) => listener(report);
    this.#listeners.add(added);
    return () => this.#listeners.delete(added);
  }

  /** @throws ToolError when too many run; else what `start` throws */
  async start(start: () => Promise<Command>): Promise<Command> {
    if (this.#isFull) {
      throw new ToolError(
        `The command was not started: ${maxRunning} commands run in the background, and more are not allowed. ` +
          `End one with kill_command, or run this one without \`run_in_background\`. ${this.#list()}`,
      );
    }
    this.#starting += 1;
    try {
      const command = await start();
      this.#keep(command);
      return command;
    } finally {
      this.#starting -= 1;
    }
  }

  /** Takes over a command from its call; `false` when too many run. */
  take(command: Command): boolean {
    if (this.#isFull) return false;
    this.#keep(command);
    return true;
  }

  /** @throws ToolError when it is not kept; says what there is */
  find(id: string): Command {
    const kept = this.#running.get(id) ?? this.#ended.get(id);
    if (kept !== undefined) return kept.command;
    const gone = this.#gone.get(id);
    const words =
      gone === undefined
        ? `There is no command ${JSON.stringify(headOf(gateText(id, this.#secrets), maxQuotedId))}. Commands end with the process of ours that started them.`
        : `The command ${id} ${gone}.`;
    throw new ToolError(`${words} ${this.#list()}`);
  }

  /** Somebody waits for it and will tell its end. @returns Says that he waits no more. */
  watch(command: Command): () => void {
    const kept = this.#running.get(command.id) ?? this.#ended.get(command.id);
    if (kept === undefined) return () => undefined;
    kept.watches += 1;
    return () => {
      kept.watches -= 1;
      if (this.#ended.has(command.id)) this.#report(kept);
    };
  }

  /** What it has printed since the last look, and how it stands. */
  look(command: Command): ToolResult {
    const output = command.transcript.takeUnread();
    if (command.exit === undefined) return { output, note: `[still running; process_id: ${command.id}]` };
    this.#running.delete(command.id);
    this.#ended.delete(command.id);
    this.#forget(command, `has ${endWords(command.exit)}, and its output has been given`);
    return { output, note: exitNote(command.exit) };
  }

  /** Ends it; its end is not reported. `false` when it had ended: then nobody is signalled. */
  kill(command: Command): boolean {
    if (command.exit !== undefined) return false;
    const kept = this.#running.get(command.id);
    if (kept !== undefined) kept.isReportDue = false;
    void command.process.end();
    return true;
  }

  /** Each in one line, in the order of their starts. */
  running(): { id: string; line: string }[] {
    return Array.from(this.#running.values(), ({ command }) => ({
      id: command.id,
      line: commandLine(command, this.#secrets),
    }));
  }

  /** Nothing is reported any more. */
  dispose(): void {
    this.#listeners.clear();
  }

  get #isFull(): boolean {
    return this.#running.size + this.#starting >= maxRunning;
  }

  #keep(command: Command): void {
    const kept: Kept = { command, watches: 0, isReportDue: true };
    this.#running.set(command.id, kept);
    void command.ended.then(() => this.#onEnd(kept));
  }

  #onEnd(kept: Kept): void {
    const { id } = kept.command;
    // Whoever watched it may have told its end already.
    if (!this.#running.delete(id)) return;
    this.#ended.set(id, kept);
    this.#report(kept);
    for (const { command } of this.#ended.values()) {
      if (this.#ended.size <= maxEnded) break;
      this.#ended.delete(command.id);
      const ended = command.exit === undefined ? "has ended" : `has ${endWords(command.exit)}`;
      this.#forget(
        command,
        `${ended}; its output was dropped, since ${maxEnded} that ended later were not asked for either`,
      );
    }
  }

  #report(kept: Kept): void {
    const { command } = kept;
    if (!kept.isReportDue || kept.watches > 0 || command.exit === undefined) return;
    kept.isReportDue = false;
    const report = commandReport(command, command.exit, this.#secrets);
    for (const listener of this.#listeners) {
      // A listener that throws, or whose promise rejects, is none of the command's business.
      const told = async (): Promise<void> => listener(report);
      told().catch(() => undefined);
    }
  }

  #forget(command: Command, words: string): void {
    this.#gone.set(command.id, words);
    for (const id of this.#gone.keys()) {
      if (this.#gone.size <= maxRemembered) break;
      this.#gone.delete(id);
    }
  }

  #list(): string {
    if (this.#running.size === 0) return "No command runs in the background.";
    const entries = this.running().map(({ id, line }) => `${id} (${line})`);
    return `In the background run: ${entries.join(", ")}.`;
  }
}
