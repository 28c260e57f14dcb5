import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { ConfigError } from "../../src/config/config-error.ts";

/** A directory that is gone after the test. */
export function temporaryDirectory(): string {
  const path = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "coxswain-config-")));
  onTestFinished(() => fs.rmSync(path, { recursive: true, force: true }));
  return path;
}

export function fileWith(name: string, content: string | Uint8Array, mode = 0o600): string {
  const path = join(temporaryDirectory(), name);
  fs.writeFileSync(path, content, { mode });
  return path;
}

/** The error of something that must fail, which is to be a `ConfigError` of one line. */
export async function configErrorOf(action: () => unknown): Promise<ConfigError> {
  let thrown: unknown;
  try {
    await action();
  } catch (error) {
    thrown = error;
  }
  if (!(thrown instanceof ConfigError)) throw new Error(`expected a ConfigError, got ${String(thrown)}`);
  if (/\p{Cc}/u.test(thrown.message)) throw new Error(`more than one line: ${JSON.stringify(thrown.message)}`);
  return thrown;
}

/** Undefined, or the `ConfigError`; anything else is thrown on. */
export async function onlyConfigErrors(action: () => unknown): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    await configErrorOf(() => Promise.reject(error));
  }
}
