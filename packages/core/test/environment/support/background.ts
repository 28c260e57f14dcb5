/** Commands that outlive their call, over a clock that stands still. */
import { execFileSync } from "node:child_process";
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { isPayload, type OmniMessage } from "@coxswain/protocol";
import { ManualClock } from "@coxswain/testing";
import { onTestFinished } from "vitest";
import type { BackgroundReport } from "../../../src/engine/ports.ts";
import type { LocalEnvironmentOptions } from "../../../src/environment/local-environment.ts";
import { createWorld, type Ran, run, type World } from "../support.ts";

interface CallOptions {
  signal?: AbortSignal;
  /** So much time passes once the call waits for it, and has shown `until`. */
  waitMs?: number;
  until?: string;
}

export interface BackgroundWorld extends World {
  clock: ManualClock;
  reports: BackgroundReport[];
  call: (name: string, args: object, options?: CallOptions) => Promise<Ran>;
  /** Starts one and gives its id, once it has printed the words. */
  start: (cmd: string, more?: { stdin?: boolean; until?: string }) => Promise<string>;
  /** All reports, once there are so many. */
  reported: (count: number) => Promise<BackgroundReport[]>;
}

export async function createBackgroundWorld(options: Partial<LocalEnvironmentOptions> = {}): Promise<BackgroundWorld> {
  const clock = new ManualClock();
  const world = await createWorld({ clock, ...options });
  const { environment } = world;
  const reports: BackgroundReport[] = [];
  environment.onReport((report) => reports.push(report));

  const call: BackgroundWorld["call"] = async (name, args, { signal, waitMs = 0, until = "" } = {}) => {
    let isOver = false;
    let view = "";
    const onMessage = (message: OmniMessage): void => {
      if (isPayload(message, "partial_tool_call_output")) view += message.payload.output;
    };
    const ran = run(environment, name, args, { ...(signal && { signal }), onMessage }).finally(() => (isOver = true));
    while (waitMs > 0 && !isOver) {
      if (clock.sleeping.includes(waitMs) && view.includes(until)) clock.advance(waitMs);
      await turn();
    }
    return ran;
  };
  return {
    ...world,
    clock,
    reports,
    call,
    start: async (cmd, { stdin = false, until = "" } = {}) => {
      const ran = await call("exec_command", { cmd, stdin, run_in_background: true }, { waitMs: 250, until });
      return idIn(ran.output);
    },
    reported: async (count) => {
      while (reports.length < count) await turn();
      return reports;
    },
  };
}

export function idIn(output: string): string {
  const id = /\[still running; process_id: (\w+)\]$/.exec(output)?.[1];
  if (id === undefined) throw new Error(`this does not run any more: ${output}`);
  return id;
}

/** Whatever runs `read x < gate` waits for it to be opened; each of so many goes on then. */
export function makeGate({ workspaceDir }: World, name = "gate"): (readers?: number) => void {
  const path = join(workspaceDir, name);
  execFileSync("mkfifo", [path]);
  const descriptor = openSync(path, "r+");
  onTestFinished(() => closeSync(descriptor));
  return (readers = 1) => void writeSync(descriptor, "\n".repeat(readers));
}

export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
