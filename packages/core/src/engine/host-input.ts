/** What a host hands over, checked before anything is done with it. */
import {
  compactionModes,
  type OmniMessage,
  safeParseOmniMessage,
  type ThinkingLevelName,
  thinkingLevels,
} from "@coxswain/protocol";
import { showValue, UsageError, wordsOf } from "./error.ts";
import type { ApproveFn, CompactionSettings, RunOptions } from "./ports.ts";
import type { EngineLimits } from "./run.ts";

/**
 * A copy: what a host changes later is not this run's. `null` is nothing.
 *
 * @throws TypeError, RangeError
 */
export function readRunOptions(options: unknown): RunOptions {
  if (options === undefined || options === null) return {};
  if (typeof options !== "object") {
    throw new TypeError(
      `the options of a run must be an object such as { signal, approve }, not ${showValue(options)}`,
    );
  }
  const { signal, approve, thinkingLevel } = options as { [K in keyof RunOptions]: unknown };
  if (!isAbsent(signal) && !isAbortSignal(signal)) {
    throw new TypeError(
      `signal must be an AbortSignal, not ${showValue(signal)}; of an AbortController give its signal: { signal: controller.signal }`,
    );
  }
  if (!isAbsent(approve) && !isApproveFn(approve)) {
    throw new TypeError(
      `approve must be a function that answers "allow" or "deny", not ${showValue(approve)}; leave it out to deny every call`,
    );
  }
  if (!isAbsent(thinkingLevel) && !isThinkingLevel(thinkingLevel)) {
    throw new RangeError(
      `thinkingLevel must be one of ${thinkingLevels.join(", ")}, not ${showValue(thinkingLevel)}; leave it out for the model's own`,
    );
  }
  return { signal: signal ?? undefined, approve: approve ?? undefined, thinkingLevel: thinkingLevel ?? undefined };
}

/** @throws UsageError that names the first message that cannot be sent, and its field */
export function checkNewMessages(newMessages: unknown): void {
  if (!Array.isArray(newMessages)) {
    throw new UsageError(`run takes an array of messages, not ${showValue(newMessages)}; such as [userText("…")]`);
  }
  for (let index = 0; index < newMessages.length; index += 1) {
    const parsed = safeParseOmniMessage(newMessages[index]);
    if (!parsed.ok) {
      throw new UsageError(
        `newMessages[${index}] is no message: ${parsed.error.message}; build messages with userText or userImage`,
      );
    }
    const { message } = parsed;
    if (!isUserSide(message)) {
      throw new UsageError(
        `run takes texts, images and files of the user side, but newMessages[${index}] is a ${message.type === "session_meta" ? message.type : message.payload.type}; build them with userText or userImage`,
      );
    }
    checkIsJson(message, `newMessages[${index}]`);
    checkIsJson(message.payload, `newMessages[${index}].payload`);
  }
}

/** @throws TypeError */
export function checkSteering(text: unknown): void {
  if (typeof text !== "string")
    throw new TypeError(`steer takes a text, not ${showValue(text)}; nothing has been said`);
}

/** @throws TypeError, RangeError */
export function checkCompactionSettings(settings: CompactionSettings): void {
  const { maxContextLength, maxSessionTurns, mode, prompt }: { [K in keyof CompactionSettings]: unknown } = settings;
  checkNumber("compaction.maxContextLength", maxContextLength);
  checkNumber("compaction.maxSessionTurns", maxSessionTurns);
  if (!compactionModes.some((known) => known === mode)) {
    throw new RangeError(`compaction.mode must be one of ${compactionModes.join(", ")}, not ${showValue(mode)}`);
  }
  if (typeof prompt !== "string") {
    throw new TypeError(`compaction.prompt must be the text that asks for a summary, not ${showValue(prompt)}`);
  }
}

/** @throws TypeError, RangeError */
export function checkLimits(limits: EngineLimits): void {
  for (const [name, value] of Object.entries(limits)) checkNumber(name, value);
}

function checkNumber(name: string, value: unknown): void {
  if (typeof value !== "number") throw new TypeError(`${name} must be a number, not ${showValue(value)}`);
  if (Number.isNaN(value)) throw new RangeError(`${name} must be a number, not NaN`);
}

function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

/** Also one of another realm, or of a library. */
function isAbortSignal(value: unknown): value is AbortSignal {
  if (typeof value !== "object" || value === null) return false;
  const { aborted, addEventListener, removeEventListener } = value as { [K in keyof AbortSignal]?: unknown };
  return (
    typeof aborted === "boolean" && typeof addEventListener === "function" && typeof removeEventListener === "function"
  );
}

function isApproveFn(value: unknown): value is ApproveFn {
  return typeof value === "function";
}

function isThinkingLevel(value: unknown): value is ThinkingLevelName {
  return thinkingLevels.some((level) => level === value);
}

function isUserSide(message: OmniMessage): boolean {
  const payload = message.payload;
  if (message.origin !== undefined) return false;
  switch (payload.type) {
    case "text":
    case "inline_data":
      return payload.role === "user";
    case "image_url":
      return true;
    default:
      return false;
  }
}

/** Texts, which may be long, are not looked at: they always are. */
function checkIsJson(fields: object, path: string): void {
  for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
    if (typeof value === "string" || name === "payload") continue;
    try {
      JSON.stringify(value);
    } catch (error) {
      const [reason] = wordsOf(error).split("\n", 1);
      throw new UsageError(`${path}.${name} cannot be written as JSON (${reason}); leave it out, or give plain data`);
    }
  }
}
