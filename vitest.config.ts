import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: {
      "@coxswain/protocol": source("packages/protocol/src/index.ts"),
      "@coxswain/core": source("packages/core/src/index.ts"),
      "@coxswain/testing": source("packages/testing/src/index.ts"),
    },
  },
  test: {
    include: ["packages/*/test/**/*.test.ts"],
    testTimeout: 20_000,
    // Every core: the default leaves one of them idle, which on two is half of the machine.
    maxWorkers: "100%",
  },
});
