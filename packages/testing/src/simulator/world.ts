/** What the parts of one life share, from its first process to its last. */
import {
  type Builders,
  type CompactionSettings,
  createBuilders,
  type EnvironmentInterface,
  type OmniMessage,
  type SessionMetaPayload,
} from "@coxswain/core";
import { fakeEnvironment, type FakeTool } from "../fake-environment.ts";
import { drawnCalls, drawnTools } from "./drawn-tools.ts";
import type { Feature } from "./features.ts";
import type { Observer } from "./observation.ts";
import { Random } from "./random.ts";
import { SimulatedDisk } from "./simulated-disk.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** A user's own parts, in place of drawn ones. */
export interface OwnParts {
  /** As `fakeEnvironment` takes them. */
  tools?: Record<string, FakeTool["run"] | FakeTool> | undefined;
  /** Called once for each process of the life. */
  environment?: (() => EnvironmentInterface) | undefined;
  /** Texts for `run` and `steer` to say, each with a mark behind it. */
  prompts?: readonly string[] | undefined;
  /** Calls that the model may make next, asked for each time that it makes one. Default: each of `tools`, with `{}`. */
  calls?: (() => readonly PossibleCall[]) | undefined;
}

export interface PossibleCall {
  name: string;
  /** JSON. Absent: drawn, and not always JSON. */
  arguments?: string | undefined;
}

export interface LifeSettings {
  /** Absent: contexts are never compacted. */
  compaction: CompactionSettings | undefined;
  maxTurns: number;
  maxReconnects: number;
  faultRate: number;
  /** Tokens that a context holds from the start; with many, compacting does not help. */
  baseTokens: number;
  runs: number;
}

export class World {
  readonly choices: Random;
  readonly scripts: Random;
  readonly clock = new VirtualClock();
  readonly build: Builders = createBuilders(() => this.clock.now());
  readonly disk: SimulatedDisk;
  readonly settings: LifeSettings;
  readonly meta: OmniMessage<SessionMetaPayload>;
  readonly features: Set<Feature>;
  readonly log: Observer;
  readonly own: OwnParts;
  /** Steps of the schedule so far. */
  steps = 0;
  #numbers = 0;
  readonly #environments: EnvironmentInterface[] = [];

  constructor(options: { seed: number; features: Iterable<Feature>; log: Observer; own: OwnParts; maxRuns: number }) {
    this.choices = new Random(options.seed, 0);
    this.scripts = new Random(options.seed, 1);
    this.features = new Set(options.features);
    this.log = options.log;
    this.own = options.own;
    this.settings = drawSettings(this.choices, this.features, options.maxRuns);
    this.disk = new SimulatedDisk({ log: this.log, random: this.choices, blocksEffects: this.choices.chance(0.3) });
    this.meta = this.build.sessionMeta({
      session_id: `session-2026-01-01-00-00-00-${(options.seed >>> 0).toString(16).padStart(8, "0")}`,
      provider: "simulated",
      model_id: "simulated",
      model_context_window: 0,
      system_prompt: "",
      agent_state: "/state",
      workspace: "/workspace",
    });
  }

  /** Never the same twice in a life. */
  nextNumber(): number {
    this.#numbers += 1;
    return this.#numbers;
  }

  /** A user's tools may take their time; ours answer at once. */
  get toolPatience(): number {
    return this.own.environment === undefined && this.own.tools === undefined ? 0 : 2_000;
  }

  get calls(): readonly PossibleCall[] {
    if (this.own.calls !== undefined) return this.own.calls();
    if (this.own.tools !== undefined) return Object.keys(this.own.tools).map((name) => ({ name, arguments: "{}" }));
    return this.own.environment === undefined ? drawnCalls : [];
  }

  openEnvironment(): EnvironmentInterface {
    const environment = this.#newEnvironment();
    this.#environments.push(environment);
    return environment;
  }

  /** Nothing lives any more. */
  async end(): Promise<void> {
    for (const environment of this.#environments.splice(0)) await environment.dispose?.();
  }

  #newEnvironment(): EnvironmentInterface {
    const { environment, tools } = this.own;
    if (environment !== undefined) return environment();
    if (tools !== undefined) return fakeEnvironment(tools, { build: this.build });
    return drawnTools({
      random: this.scripts,
      build: this.build,
      features: this.features,
      newChildId: () => `child-${this.nextNumber()}`,
    });
  }
}

function drawSettings(random: Random, features: ReadonlySet<Feature>, maxRuns: number): LifeSettings {
  const maxContextLength = random.pick([0, 60, 60, 120, 200]);
  const maxSessionTurns = random.pick([-1, -1, 2, 3]);
  const mode = random.pick<"summarize" | "discard">(["summarize", "summarize", "discard"]);
  const isHopeless = random.chance(0.08);
  const maxTurns = random.pick([100, 100, 100, 100, 100, 100, -1, -1, -1, 4, 3, 3, 2, 2, 1, 0]);
  const maxReconnects = random.pick([5, 5, 1]);
  const faultRate = random.pick([0.05, 0.2, 0.2, 0.6]);
  const runs = random.int(2, 4);
  const compaction: CompactionSettings = { maxContextLength, maxSessionTurns, mode, prompt: "Summarize." };
  return {
    compaction: features.has("compaction") ? compaction : undefined,
    maxTurns: features.has("turn limits") ? maxTurns : 100,
    maxReconnects,
    faultRate,
    baseTokens: isHopeless ? 150 : 0,
    runs: Math.min(runs, maxRuns),
  };
}
