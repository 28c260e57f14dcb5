/** In front of every file of tests: watches the engines that it makes, and plays what they wrote. */
import type { RunOptions, OmniMessage } from "@coxswain/core";
import { afterAll, afterEach, vi } from "vitest";
import { engineRuns, expectAllPlayed, playMemoryTraces } from "./every-trace.ts";

vi.mock(import("../../core/src/engine/context-engine.ts"), async (original) => {
  const { ContextEngine, ...others } = await original();
  class WatchedEngine extends ContextEngine {
    readonly #options: ConstructorParameters<typeof ContextEngine>[0];

    constructor(options: ConstructorParameters<typeof ContextEngine>[0]) {
      super(options);
      this.#options = options;
    }

    override run(messages: readonly OmniMessage[], options?: RunOptions): AsyncGenerator<OmniMessage, void> {
      engineRuns(this.#options);
      return super.run(messages, options);
    }

    override compact(options?: RunOptions): AsyncGenerator<OmniMessage, void> {
      engineRuns(this.#options);
      return super.compact(options);
    }
  }
  return { ...others, ContextEngine: WatchedEngine };
});

afterEach(playMemoryTraces);
afterAll(expectAllPlayed);
