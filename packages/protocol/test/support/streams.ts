/** Streams as a Session gives them: several Sessions at once, each of them disciplined. */
import fc from "fast-check";
import { isPartial, type OmniMessage, type StopReason, withOrigin } from "../../src/index.ts";
import { at, contentOf } from "./builders.ts";

export function inOrigin(message: OmniMessage, origin: readonly string[]): OmniMessage {
  return origin.reduceRight<OmniMessage>((inner, id) => withOrigin(inner, id), message);
}

export function textSegment(deltas: string[], stopReason?: StopReason): OmniMessage[] {
  return [
    at.partialText("start"),
    ...deltas.map((delta) => at.partialText("delta", delta)),
    at.partialText("stop", "", stopReason),
    at.assistantText(deltas.join(""), { stopReason }),
  ];
}

export function thinkingSegment(deltas: string[], stopReason?: StopReason): OmniMessage[] {
  return [
    at.partialThinking("start"),
    ...deltas.map((delta) => at.partialThinking("delta", delta)),
    at.partialThinking("stop", "", stopReason),
    at.thinking(deltas.join(""), { stopReason }),
  ];
}

export function callSegment(toolCallId: string, deltas: string[], stopReason?: StopReason): OmniMessage[] {
  const name = "read_file";
  return [
    at.partialToolCall({ eventType: "start", name, toolCallId }),
    ...deltas.map((delta) => at.partialToolCall({ eventType: "delta", name, toolCallId, arguments: delta })),
    at.partialToolCall({ eventType: "stop", name, toolCallId, stopReason }),
    at.toolCall({ name, toolCallId, arguments: deltas.join(""), stopReason }),
  ];
}

/** Each delta brings an image as well. */
export function outputSegment(toolCallId: string, deltas: string[], stopReason?: StopReason): OmniMessage[] {
  const images = deltas.map((_, index) => `data:,${index}`);
  return [
    at.partialToolCallOutput({ eventType: "start", toolCallId }),
    ...deltas.map((delta, index) =>
      at.partialToolCallOutput({
        eventType: "delta",
        toolCallId,
        output: delta,
        images: images.slice(index, index + 1),
      }),
    ),
    at.partialToolCallOutput({ eventType: "stop", toolCallId, stopReason }),
    at.toolCallOutput({ output: deltas.join(""), toolCallId, images, stopReason }),
  ];
}

const stopReason = fc.constantFrom<(StopReason | undefined)[]>(undefined, undefined, "failed", "aborted", "malformed");
const deltas = fc.array(fc.oneof(fc.string({ unit: "binary", maxLength: 4 }), fc.constant("{")), { maxLength: 4 });

/** Lanes become one stream; each keeps its own order. */
function merge(lanes: readonly OmniMessage[][], picks: readonly number[]): OmniMessage[] {
  const waiting = lanes.map((lane) => [...lane]).filter((lane) => lane.length > 0);
  const merged: OmniMessage[] = [];
  while (waiting.length > 0) {
    const lane = (picks[merged.length % picks.length] ?? 0) % waiting.length;
    const next = waiting[lane]?.shift();
    if (next !== undefined) merged.push(next);
    if (waiting[lane]?.length === 0) waiting.splice(lane, 1);
  }
  return merged;
}

const picks = fc.array(fc.nat(5), { minLength: 1, maxLength: 12 });
const written = fc.oneof(
  fc.tuple(deltas, stopReason).map(([parts, reason]) => textSegment(parts, reason)),
  fc.tuple(deltas, stopReason).map(([parts, reason]) => thinkingSegment(parts, reason)),
  fc
    .tuple(fc.constantFrom("c1", "c2", "c3"), deltas, stopReason)
    .map(([id, parts, reason]) => callSegment(id, parts, reason)),
  fc.constant([at.notice("info", "n", "between")]),
);
const outputs = fc
  .tuple(fc.uniqueArray(fc.constantFrom("c1", "c2", "c3")), deltas, stopReason, picks)
  .map(([ids, parts, reason, order]) =>
    merge(
      ids.map((id) => outputSegment(id, parts, reason)),
      order,
    ),
  );
const counts = { input: 1, cache_read: 0, cache_write: 0, output: 1, total: 2 };

/** One request: what the model wrote, its end, and what the tools gave. */
const request = fc
  .tuple(fc.array(written, { maxLength: 5 }), outputs)
  .map(([segments, given]) => [
    at.requestBegin(),
    ...segments.flat(),
    at.tokenUsage({ session: counts, request: counts }),
    at.requestEnd("completed"),
    ...given,
  ]);

export const origins: readonly (readonly string[])[] = [[], ["a"], ["a", "b"], ["b"], ["a,b"]];

/** A whole stream of several Sessions, which all use the same call ids. */
export const disciplinedStream = fc
  .tuple(fc.array(fc.array(request, { maxLength: 2 }), { minLength: 1, maxLength: origins.length }), picks)
  .map(([sessions, order]) =>
    merge(
      sessions.map((requests, index) => requests.flat().map((message) => inOrigin(message, origins[index] ?? []))),
      order,
    ),
  );

interface Followed {
  content: string;
  images: string[];
  stop: OmniMessage | undefined;
}

/** Kind, Session and call: what a fragment and its complete message have in common. */
export function segmentKey({ payload, origin = [] }: OmniMessage): string | undefined {
  if (payload.type === undefined || !("role" in payload)) return undefined;
  if (payload.role === "user" && !("tool_call_id" in payload)) return undefined;
  return JSON.stringify([
    payload.type.replace("partial_", ""),
    origin,
    "tool_call_id" in payload ? payload.tool_call_id : null,
  ]);
}

/** What is wrong with the stream's discipline, read with no help from the code under test. */
export function faultsOf(messages: readonly OmniMessage[]): string[] {
  const open = new Map<string, Followed>();
  const faults: string[] = [];
  for (const message of messages) {
    const key = segmentKey(message);
    if (key === undefined) continue;
    const segment = open.get(key);
    if (!isPartial(message)) {
      if (segment !== undefined) faults.push(...completionFaults(key, segment, message));
      open.delete(key);
      continue;
    }
    const event = message.payload.event_type;
    if (event === "start") {
      if (segment !== undefined) faults.push(`${key} starts twice`);
      open.set(key, { content: "", images: [], stop: undefined });
    } else if (segment === undefined || segment.stop !== undefined) {
      faults.push(`${key} has a ${event} outside a start and a stop`);
    } else if (event === "stop") {
      segment.stop = message;
    }
    const followed = open.get(key);
    if (followed === undefined) continue;
    followed.content += contentOf(message);
    followed.images.push(...imagesOf(message));
  }
  return [...faults, ...[...open.keys()].map((key) => `${key} is left open`)];
}

function completionFaults(key: string, segment: Followed, message: OmniMessage): string[] {
  const faults: string[] = [];
  if (segment.stop === undefined) faults.push(`${key} is complete without a stop`);
  if (segment.content !== contentOf(message)) faults.push(`${key} differs from its deltas`);
  if (segment.images.join() !== imagesOf(message).join()) faults.push(`${key} differs in images`);
  if (segment.stop && stopReasonOf(segment.stop) !== stopReasonOf(message)) faults.push(`${key} differs in its reason`);
  return faults;
}

function imagesOf({ payload }: OmniMessage): string[] {
  return "images" in payload ? (payload.images ?? []) : [];
}

export function stopReasonOf({ payload }: OmniMessage): StopReason | undefined {
  return "stop_reason" in payload ? payload.stop_reason : undefined;
}
