import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** What these test is a whole process's. All others share one per core, with modules of their own: a process costs a second. */
const ownProcess = [
  // Replaces the timers that its HTTP library keeps for good.
  "packages/core/test/llm/patience.test.ts",
  // Counts the files that the process has open.
  "packages/core/test/shared/regular-file.test.ts",
];

/** They live thousands of lives, for which the modules that are built need a third less time than those Vitest makes. */
const builtPackages = ["packages/testing/test/simulator.test.ts"];

/** They start the command some hundred times, each time for little: for them it is in one file, for all others as it is built. */
const oneFileCommand = [
  "packages/cli/test/bad-input.test.ts",
  "packages/cli/test/interrupt.test.ts",
  "packages/cli/test/killed-run.test.ts",
  "packages/cli/test/models.test.ts",
  "packages/cli/test/models-test.test.ts",
  "packages/cli/test/resume.test.ts",
  "packages/cli/test/run-and-sessions.test.ts",
  "packages/cli/test/run-over-http.test.ts",
  "packages/cli/test/trace.test.ts",
];

/** Begun first, in this order: one that is begun when all others are done leaves the other cores idle. */
const longest = [
  "packages/testing/test/simulator.test.ts",
  "packages/core/test/crash/matrix.test.ts",
  "packages/testing/test/planted-bugs.test.ts",
  "packages/cli/test/demo.test.ts",
  "packages/cli/test/run-and-sessions.test.ts",
  "packages/cli/test/killed-run.test.ts",
  "packages/core/test/llm/fuzz/cuts.test.ts",
  "packages/cli/test/interrupt.test.ts",
  "packages/core/test/trace/torn-trace.test.ts",
  "packages/cli/test/resume.test.ts",
  "packages/cli/test/run-over-http.test.ts",
].map(source);

/** Without the times of an earlier run, which a clean clone does not have, Vitest goes by the sizes of files. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    // One project after the other: a process that is shared ends when a file of its own is next.
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) => {
      const own = sorted.filter((file) => file.project === project);
      const first = longest.flatMap((path) => own.filter(({ moduleId }) => moduleId === path));
      return [...first, ...own.filter((file) => !first.includes(file))];
    });
  }
}

export default defineConfig({
  resolve: {
    alias: {
      "@coxswain/protocol": source("packages/protocol/src/index.ts"),
      "@coxswain/core": source("packages/core/src/index.ts"),
      "@coxswain/testing": source("packages/testing/src/index.ts"),
    },
  },
  test: {
    // Against tests that hang; a machine that is busy elsewhere is no reason to fail.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    // Every core: the default leaves one of them idle, which on two is half of the machine.
    maxWorkers: "100%",
    // The first forgets all modules, and the second watches those of the test file.
    setupFiles: ["packages/testing/test/unchanged-process.ts", "packages/testing/test/every-trace-setup.ts"].map(
      source,
    ),
    sequence: { sequencer: LongestFirst, setupFiles: "list" },
    projects: [
      { extends: true, test: { name: "own process", include: ownProcess } },
      {
        extends: true,
        resolve: { alias: { "@coxswain/testing": source("packages/testing/dist/index.js") } },
        test: {
          name: "built packages",
          include: builtPackages,
          isolate: false,
          server: { deps: { external: [/\/packages\/\w+\/dist\//] } },
        },
      },
      {
        extends: true,
        test: {
          name: "one-file command",
          include: oneFileCommand,
          isolate: false,
          globalSetup: [source("packages/cli/test/one-file-command.ts")],
        },
      },
      {
        extends: true,
        test: {
          name: "shared process",
          include: ["packages/*/test/**/*.test.ts"],
          exclude: [...ownProcess, ...builtPackages, ...oneFileCommand],
          isolate: false,
        },
      },
    ],
  },
});
