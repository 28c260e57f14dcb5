import { resolve } from "node:path";
import type { Builders, OmniMessage, ToolCallPayload, ToolDefinition, ToolPermission } from "@coxswain/protocol";
import { createBuilders } from "@coxswain/protocol";
import type {
  ApproveFn,
  BackgroundReport,
  Clock,
  EnvironmentInterface,
  ExecuteToolRequest,
  Preview,
} from "../engine/ports.ts";
import { CallOutput } from "./call-output.ts";
import type { CallStop } from "./call-stop.ts";
import { CommandRegistry } from "./command/command-registry.ts";
import type { CommandSandbox } from "./command/command-sandbox.ts";
import { commandVariables } from "./command/command-variables.ts";
import { environmentDefaults } from "./defaults.ts";
import { checkLimits } from "./check-limits.ts";
import { CommandPolicy, type CommandRule } from "./command-policy.ts";
import { FileGuard } from "./files/file-guard.ts";
import { forbiddenPatterns } from "./files/forbidden-patterns.ts";
import { ReadLedger } from "./files/read-ledger.ts";
import { loadSoon } from "./late-libraries.ts";
import { RunningCalls } from "./running-calls.ts";
import { systemClock } from "../shared/system-clock.ts";
import { gateText } from "./text/text-gate.ts";
import type { Tool, ToolContext } from "./tool.ts";
import { badArguments, parseArguments, unknownTool } from "./tool-arguments.ts";
import { type EnvironmentServices, LocalToolContext } from "./tool-context.ts";
import { runTool, type ToolRun } from "./tool-run.ts";

export interface LocalEnvironmentOptions {
  /** Absolute. */
  workspaceDir: string;
  /** Absolute; where whole outputs are kept. Readable by tools also within a forbidden path. */
  scratchpadDir: string;
  tools: readonly Tool[];
  /** Times out calls and stamps messages. Default: the machine's. */
  clock?: Clock | undefined;
  /**
   * Globs of files in the Workspace that file tools do not touch; one without a slash holds in every directory. One that
   * begins with `/` or `~/` is a path too, with all below it.
   */
  forbiddenFiles?: readonly string[] | undefined;
  /** Absolute paths that file tools do not touch, with all below them. */
  forbiddenPaths?: readonly string[] | undefined;
  /** Where alone file tools write, and where they do not even there. Default: wherever they read. */
  writable?: { readonly roots: readonly string[]; readonly except: readonly string[] } | undefined;
  commandPolicy?: readonly CommandRule[] | undefined;
  /** What stands around every command. Default: nothing. */
  sandbox?: CommandSandbox | undefined;
  /** Values masked in everything that goes out, and kept out of the environment of commands. */
  secrets?: readonly string[] | undefined;
  /** The environment that commands inherit, before it is cleaned. Default: this process's. */
  variables?: Readonly<Record<string, string | undefined>> | undefined;
  /** More names of variables that commands do not get. */
  hiddenVariables?: readonly string[] | undefined;
  /** Milliseconds, of tools that say nothing. Default 120,000. */
  timeoutMs?: number | undefined;
  /** Characters, of tools that say nothing. Default 16,000. */
  maxOutputLength?: number | undefined;
  /** Waited for at the end, so that a process that ends at once leaves nothing of an earlier one running. Never rejects. */
  orphansEnded?: Promise<unknown> | undefined;
}

/** Runs tools on this machine, in one Workspace. */
export class LocalEnvironment implements EnvironmentInterface {
  readonly #options: LocalEnvironmentOptions;
  readonly #workspaceDir: string;
  readonly #scratchpadDir: string;
  readonly #clock: Clock;
  readonly #build: Builders;
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #policy: CommandPolicy;
  readonly #secrets: readonly string[];
  readonly #services: EnvironmentServices;
  readonly #running: RunningCalls;
  #disposed: Promise<void> | undefined;

  /** @throws TypeError for two tools of one name, or a limit that is none; SyntaxError for a command rule that is no regular expression. */
  constructor(options: LocalEnvironmentOptions) {
    checkLimits("The Environment", options);
    this.#options = options;
    this.#workspaceDir = resolve(options.workspaceDir);
    this.#scratchpadDir = resolve(options.scratchpadDir);
    this.#clock = options.clock ?? systemClock;
    this.#build = createBuilders(() => this.#clock.now());
    this.#running = new RunningCalls(this.#clock);
    this.#tools = byName(options.tools);
    this.#policy = new CommandPolicy(options.commandPolicy ?? []);
    this.#secrets = options.secrets ?? [];
    const forbidden = forbiddenPatterns(this.#workspaceDir, options.forbiddenFiles ?? []);
    this.#services = {
      clock: this.#clock,
      commands: new CommandRegistry({
        variables: commandVariables({
          variables: options.variables ?? process.env,
          hidden: options.hiddenVariables ?? [],
          secrets: this.#secrets,
        }),
        sandbox: options.sandbox,
        output: {
          limit: options.maxOutputLength ?? environmentDefaults.maxOutputLength,
          scratchpadDir: this.#scratchpadDir,
          secrets: this.#secrets,
        },
        clock: this.#clock,
      }),
      files: new FileGuard({
        workspaceDir: this.#workspaceDir,
        scratchpadDir: this.#scratchpadDir,
        forbiddenFiles: forbidden.files,
        forbiddenPaths: [...(options.forbiddenPaths ?? []), ...forbidden.paths],
        writable: options.writable,
        secrets: this.#secrets,
      }),
      readLedger: new ReadLedger(),
    };
  }

  async listTools(): Promise<ToolDefinition[]> {
    loadSoon();
    return [...this.#tools.values()].map((tool) => tool.definition);
  }

  toolPermission(name: string): ToolPermission | undefined {
    return this.#tools.get(name)?.definition.permission;
  }

  executeTool(request: ExecuteToolRequest): AsyncGenerator<OmniMessage> {
    const call = request.toolCall.payload;
    const tool = this.#tools.get(call.name);
    const timeoutMs = Math.min(
      tool?.timeoutMs ?? this.#options.timeoutMs ?? environmentDefaults.timeoutMs,
      environmentDefaults.maxTimeoutMs,
    );
    const output = this.#output(call.tool_call_id, tool);
    return runTool({
      output,
      timeoutMs,
      open: () => {
        const stop = this.#running.begin(request.signal, timeoutMs);
        if (this.#disposed !== undefined) stop.stop("interrupt");
        return stop;
      },
      start: (stop) => this.#start(call, tool, stop, request.approve),
      close: (stop) => {
        stop.close();
        output.close();
      },
    });
  }

  forbids(toolCall: OmniMessage<ToolCallPayload>): string | undefined {
    const { name } = toolCall.payload;
    if (name !== "exec_command" && name !== "input_command") return undefined;
    const parsed = parseArguments(toolCall.payload.arguments, this.#secrets);
    if (!parsed.ok) return undefined;
    // What is typed into a shell is a command too.
    const command = name === "exec_command" ? parsed.value.cmd : parsed.value.chars;
    return typeof command === "string" ? this.#policy.match(command) : undefined;
  }

  /** `undefined` also when the arguments do not fit, or the tool's preview fails. */
  async preview(toolCall: OmniMessage<ToolCallPayload>): Promise<Preview | undefined> {
    const call = toolCall.payload;
    const tool = this.#tools.get(call.name);
    const parsed = parseArguments(call.arguments, this.#secrets);
    if (tool?.preview === undefined || !parsed.ok) return undefined;
    const controller = new AbortController();
    try {
      const checked = await tool.validate(parsed.value);
      if (!checked.ok) return undefined;
      const context = this.#context(call.tool_call_id, () => controller.signal, undefined);
      const preview = await tool.preview(checked.value, context);
      return preview === undefined ? undefined : this.#clean(preview);
    } catch {
      return undefined;
    }
  }

  onReport(listener: (report: BackgroundReport) => void): () => void {
    return this.#services.commands.background.onReport(listener);
  }

  /** Those that run now: ids, and what each is in one line without secrets. */
  backgroundCommands(): { id: string; line: string }[] {
    return this.#services.commands.background.running();
  }

  /** Interrupts what runs and ends every child process. */
  dispose(): Promise<void> {
    this.#disposed ??= this.#end();
    return this.#disposed;
  }

  async #end(): Promise<void> {
    this.#running.stopAll();
    await Promise.all([this.#services.commands.dispose(), this.#options.orphansEnded]);
  }

  async #start(
    call: ToolCallPayload,
    tool: Tool | undefined,
    stop: CallStop,
    approve: ApproveFn | undefined,
  ): ReturnType<ToolRun["start"]> {
    if (tool === undefined) return unknownTool(call.name, this.#tools.keys(), this.#secrets);
    const parsed = parseArguments(call.arguments, this.#secrets);
    if (!parsed.ok) return badArguments(tool, parsed.message);
    const checked = await tool.validate(parsed.value);
    if (!checked.ok) return badArguments(tool, `The arguments do not fit:\n${checked.message}`);
    if (stop.cause !== undefined) return "The call was stopped before it began.";
    return {
      returned: tool.execute(
        checked.value,
        this.#context(call.tool_call_id, () => stop.signal, approve),
      ),
    };
  }

  #context(toolCallId: string, signal: () => AbortSignal, approve: ApproveFn | undefined): ToolContext {
    return new LocalToolContext({ workspaceDir: this.#workspaceDir, toolCallId, approve }, signal, this.#services);
  }

  #output(toolCallId: string, tool: Tool | undefined): CallOutput {
    return new CallOutput({
      build: this.#build,
      toolCallId,
      limit: tool?.maxOutputLength ?? this.#options.maxOutputLength ?? environmentDefaults.maxOutputLength,
      scratchpadDir: this.#scratchpadDir,
      secrets: this.#secrets,
    });
  }

  #clean(preview: Preview): Preview {
    const entries = Object.entries(preview).map(([key, value]: [string, unknown]) => [
      key,
      typeof value === "string" ? gateText(value, this.#secrets) : value,
    ]);
    return Object.fromEntries(entries) as Preview;
  }
}

function byName(tools: readonly Tool[]): Map<string, Tool> {
  const map = new Map<string, Tool>();
  for (const tool of tools) {
    const { name } = tool.definition;
    if (map.has(name)) throw new TypeError(`There are two tools named "${name}": rename one or leave one out.`);
    map.set(name, tool);
  }
  return map;
}
