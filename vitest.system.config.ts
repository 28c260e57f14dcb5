import { fileURLToPath } from "node:url";
import { defineConfig, mergeConfig } from "vitest/config";
import ordinary from "./vitest.config.ts";

/** Tests with programs that not every machine has. They fail without them. */
const system = mergeConfig(
  ordinary,
  defineConfig({
    test: {
      // Hundreds of processes, each with namespaces of its own.
      testTimeout: 120_000,
      globalSetup: [fileURLToPath(new URL("scripts/require-programs.ts", import.meta.url))],
    },
  }),
);
if (system.test !== undefined) {
  system.test.include = ["packages/*/test-system/**/*.test.ts"];
  // Each file has a process of its own.
  delete system.test.projects;
}

export default system;
