/** In every request each call is followed by exactly one output of its own, in call order, and no output lacks its call. */
import type { OmniMessage } from "@coxswain/core";
import type { Invariant } from "./invariant.ts";

export const pairing: Invariant = {
  name: "pairing",
  watch: () => ({
    see: (seen) => {
      if (seen.at === "request") return unpaired([...seen.history, ...seen.input]);
      if (seen.at === "ended") return unpaired([...seen.end.state.history, ...seen.end.state.carryOver]);
      return undefined;
    },
  }),
};

function unpaired(messages: readonly OmniMessage[]): string | undefined {
  const owed: string[] = [];
  let hasAnswered = false;
  for (const { payload } of messages) {
    if (payload.type === "tool_call") {
      if (hasAnswered && owed.length > 0) return `${owed[0]} has no output, and another turn's call follows`;
      hasAnswered = false;
      owed.push(payload.tool_call_id);
    } else if (payload.type === "tool_call_output") {
      const expected = owed.shift();
      hasAnswered = true;
      if (expected === undefined) return `the output of ${payload.tool_call_id} has no call in front of it`;
      if (expected !== payload.tool_call_id)
        return `the output of ${payload.tool_call_id} stands where ${expected} is owed`;
    } else if ("role" in payload && payload.role === "user" && owed.length > 0) {
      return `${owed.join(", ")} has no output in front of the next user message`;
    } else if (hasAnswered && owed.length > 0) return `${owed.join(", ")} has no output next to the others`;
  }
  return owed.length === 0 ? undefined : `${owed.join(", ")} has no output`;
}
