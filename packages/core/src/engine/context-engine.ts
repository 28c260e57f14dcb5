/** The engine's face: one Task or one compaction at a time over one conversation. */
import { createBuilders, type OmniMessage, type TokenCounts } from "@coxswain/protocol";
import { compact } from "./compaction.ts";
import { type Compactability, compactability } from "./compaction-policy.ts";
import { readyTools } from "./context-input.ts";
import { engineDefaults } from "./defaults.ts";
import { SessionBusyError, UsageError } from "./error.ts";
import { checkCompactionSettings, checkLimits, checkNewMessages, checkSteering, readRunOptions } from "./host-input.ts";
import { Inbox } from "./inbox.ts";
import { endInterrupted, watchForInterrupt } from "./interrupt.ts";
import { Interrupted, Interruption } from "./interruption.ts";
import { Ledger } from "./ledger.ts";
import { Outbox } from "./outbox.ts";
import type {
  BackgroundReport,
  Clock,
  CompactionSettings,
  EngineState,
  EnvironmentInterface,
  LLMInterface,
  RunOptions,
  TraceSink,
} from "./ports.ts";
import { Recorder } from "./recorder.ts";
import { Reports } from "./reports.ts";
import type { EngineLimits, EngineParts, Run } from "./run.ts";
import { runTask } from "./task.ts";
import { systemClock } from "../shared/system-clock.ts";
import { ReconnectWait } from "./wait.ts";

export interface ContextEngineOptions extends Partial<EngineLimits> {
  /** Of the newest model context. */
  llm: LLMInterface;
  /** Opens the model context that follows a compaction; without it there is none. */
  createLLM?: ((sessionTokens: TokenCounts) => LLMInterface) | undefined;
  environment: EnvironmentInterface;
  trace?: TraceSink | undefined;
  /** Default: the system's. */
  clock?: Clock | undefined;
  compaction?: CompactionSettings | undefined;
  /** Written by the composition; the engine repeats it in each further context. */
  sessionMeta?: OmniMessage | undefined;
  /** What `replayTrace` gave. */
  initialState?: EngineState | undefined;
}

export type EngineActivity = "idle" | "running" | "compacting";

export class ContextEngine {
  readonly #parts: EngineParts;
  readonly #stopReports: (() => void) | undefined;
  #tellHost: ((report: BackgroundReport) => void) | undefined;
  #run: Run | undefined;
  #isClosed = false;

  /** @throws TypeError, RangeError for limits or settings of compaction that are none. */
  constructor(options: ContextEngineOptions) {
    const limits: EngineLimits = {
      maxTurns: options.maxTurns ?? engineDefaults.maxTurns,
      maxReconnects: options.maxReconnects ?? engineDefaults.maxReconnects,
      compactionMaxReconnects: options.compactionMaxReconnects ?? engineDefaults.compactionMaxReconnects,
      reconnectBackoffMs: options.reconnectBackoffMs ?? engineDefaults.reconnectBackoffMs,
      reconnectBackoffMaxMs: options.reconnectBackoffMaxMs ?? engineDefaults.reconnectBackoffMaxMs,
    };
    checkLimits(limits);
    const { compaction: settings, createLLM } = options;
    if (settings !== undefined) checkCompactionSettings(settings);
    const clock = options.clock ?? systemClock;
    const ledger = new Ledger(options.initialState);
    if (options.sessionMeta !== undefined && ledger.meta === null) ledger.apply(options.sessionMeta);
    const build = createBuilders(() => clock.now());
    this.#parts = {
      llm: options.llm,
      environment: options.environment,
      clock,
      build,
      ledger,
      recorder: new Recorder({ sink: options.trace, ledger, build, clock }),
      inbox: new Inbox(),
      reports: new Reports(),
      wait: new ReconnectWait(),
      limits,
      compaction: settings === undefined || createLLM === undefined ? undefined : { settings, createLLM },
      knownChildren: new Set(),
      tools: undefined,
      hasToldCompactionIsOff: false,
    };
    this.#stopReports = options.environment.onReport?.((report) => {
      this.#parts.reports.add(report);
      this.#tellReports();
    });
  }

  get activity(): EngineActivity {
    if (this.#run === undefined) return "idle";
    return this.#run.compacting === undefined ? this.#run.activity : "compacting";
  }

  /** What a resume would begin with if the process ended now. */
  get state(): EngineState {
    return this.#parts.ledger.state();
  }

  /**
   * Drives one Task to its end. Nothing happens before the first `next()`.
   *
   * @param newMessages User-side messages. May be empty when something is owed, such as after an interrupt, or when
   * background work has reported.
   * @throws SessionBusyError at the call while a Task or a compaction runs, else at the first `next()` if one does then.
   * @throws TypeError, RangeError at the call: options that are none.
   * @throws UsageError at the first `next()`: nothing to send, or messages that a user side cannot send.
   */
  run(newMessages: readonly OmniMessage[], options: RunOptions = {}): AsyncGenerator<OmniMessage, void> {
    return this.#open("running", options, {
      check: () => this.#checkInput(newMessages),
      work: (run) => runTask(run, newMessages),
    });
  }

  /** Compacts by hand. Yields nothing unless `compactability()` is `ok`. Errors as `run`. */
  compact(options: Pick<RunOptions, "signal"> = {}): AsyncGenerator<OmniMessage, void> {
    return this.#open("compacting", options, {
      work: async (run) => {
        const { compaction } = this.#parts;
        if (compaction === undefined || this.compactability() !== "ok") return;
        await readyTools(run);
        await compact(run, "manual", compaction);
        await run.interruption.until(run.outbox.drained());
      },
    });
  }

  compactability(): Compactability {
    const { ledger, compaction } = this.#parts;
    return compactability(ledger, compaction !== undefined);
  }

  /**
   * Says something to the running Task. Answers `true` exactly when the text will reach the model, unless the run is
   * interrupted or fails first: then `abort.undelivered` holds it.
   *
   * @throws TypeError for what is no text.
   */
  steer(text: string): boolean {
    checkSteering(text);
    return this.#parts.inbox.accept(text);
  }

  /** Ends the wait before a reconnect, from the moment in which a reader can know of it. `false` when there is none. */
  skipReconnectWait(): boolean {
    return this.#parts.wait.skip();
  }

  /**
   * Background work that ends while nothing runs, or too late for a run's last request. The model is told with the next
   * input; `run([])` makes one of it.
   */
  onReport(tellHost: (report: BackgroundReport) => void): void {
    this.#tellHost = tellHost;
    this.#tellReports();
  }

  #tellReports(): void {
    if (this.#run !== undefined || this.#tellHost === undefined) return;
    for (const report of this.#parts.reports.untold()) this.#tellHost(report);
  }

  /** Interrupts what runs, and waits for its end. Nothing begins any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopReports?.();
    await this.#run?.outbox.return();
  }

  #open(
    activity: "running" | "compacting",
    options: RunOptions,
    job: { check?: () => void; work: (run: Run) => Promise<void> },
  ): Outbox {
    this.#checkIdle();
    const { signal, approve, thinkingLevel } = readRunOptions(options);
    let interruption: Interruption | undefined;
    const outbox = new Outbox({
      start: async () => {
        this.#checkIdle();
        job.check?.();
        interruption = new Interruption(signal);
        const run: Run = {
          activity,
          parts: this.#parts,
          outbox,
          interruption,
          approve,
          thinkingLevel,
          request: undefined,
          compacting: undefined,
          undelivered: [],
        };
        await this.#drive(run, job.work);
      },
      stop: () => interruption?.fire(),
    });
    return outbox;
  }

  async #drive(run: Run, work: (run: Run) => Promise<void>): Promise<void> {
    const { recorder, inbox } = this.#parts;
    this.#run = run;
    recorder.attach(run.outbox);
    if (run.activity === "running") inbox.open();
    const release = watchForInterrupt(run);
    try {
      await work(run);
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
      await endInterrupted(run);
    } finally {
      release();
      inbox.close();
      run.interruption.dispose();
      this.#run = undefined;
      this.#tellReports();
    }
  }

  #checkIdle(): void {
    if (this.#isClosed) throw new UsageError("this Session has been disposed of; resume it to go on");
    if (this.#run !== undefined) throw new SessionBusyError(this.activity);
  }

  #checkInput(newMessages: readonly OmniMessage[]): void {
    checkNewMessages(newMessages);
    const { ledger, reports } = this.#parts;
    const hasOwn = ledger.owesInput || ledger.pendingSummary !== undefined || !reports.isEmpty;
    if (newMessages.length === 0 && !hasOwn) {
      throw new UsageError('run has nothing to send: give at least one message, such as userText("…")');
    }
  }
}
