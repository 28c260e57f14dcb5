/** What a replay sent, against what the records say that must have been sent. */
import { impliedRequests, type OmniMessage } from "@coxswain/core";
import { comparable, differenceOf, type ReplayDifference } from "./difference.ts";
import type { ReplayPlan } from "./plan.ts";
import type { SentRequest } from "./recorded-parts.ts";

interface Expected {
  purpose: string;
  input: OmniMessage[];
  isCut: boolean;
}

export function compareRequests(plan: ReplayPlan, sent: readonly SentRequest[]): ReplayDifference | undefined {
  const expected = expectedRequests(plan);
  for (const { index, parameters } of sent) {
    const request = expected.get(index);
    const place = `the request of ${plan.records[index]?.place}`;
    if (request === undefined) return { place, expected: "no request here", found: "a request" };
    const { purpose = "turn", newMessages } = parameters;
    const difference =
      differenceOf(request.purpose, purpose, `${place}, its purpose`) ??
      differenceOf(view(request.input, request.isCut), view(newMessages, request.isCut), `${place}, its input`);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

/** By the index of their `request_begin`. */
function expectedRequests({ records, initialState }: ReplayPlan): Map<number, Expected> {
  const expected = new Map<number, Expected>();
  for (let start = 0; start < records.length; ) {
    const context = records[start]?.context;
    let end = start;
    while (records[end]?.context === context && end < records.length) end += 1;
    const messages = records.slice(start, end).map(({ message }) => message);
    const initial = start === 0 ? initialState : undefined;
    for (const { index, ...request } of impliedRequests(messages, initial)) expected.set(start + index, request);
    start = end;
  }
  return expected;
}

/** @param isCut Outputs were shortened to fit, to a length that no record tells. */
function view(messages: readonly OmniMessage[], isCut: boolean): unknown[] {
  return messages.map((message) => {
    const value = comparable(message) as { payload: Record<string, unknown> };
    if (!isCut || message.payload.type !== "tool_call_output") return value;
    const { output: _, images: __, ...rest } = value.payload;
    return { ...value, payload: rest };
  });
}
