/** Test files share processes, but no modules: what one of them changed in its process, the next one would live with. */
import { afterAll, expect, vi } from "vitest";

// Also so that what a module of support registers for each test is registered in every file.
vi.resetModules();

function shared(): Record<string, unknown> {
  const { Date, clearTimeout, fetch, setImmediate, setInterval, setTimeout } = globalThis;
  return {
    console: { ...console },
    directory: process.cwd(),
    environment: { ...process.env },
    exitCode: process.exitCode,
    fileMode: process.umask(),
    globals: { Date, clearTimeout, fetch, setImmediate, setInterval, setTimeout },
  };
}

const before = shared();

afterAll(() => {
  expect(
    shared(),
    "what a test file leaves of its process; one that cannot help it is named in vitest.config.ts",
  ).toEqual(before);
});
