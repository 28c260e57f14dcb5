/** A person who decides calls: at once, late, wrongly, or never. */
import type { ApproveFn } from "@coxswain/core";
import type { FeatureSet } from "./features.ts";
import type { Gates } from "./gates.ts";
import type { Observer } from "./observation.ts";
import type { Random } from "./random.ts";

export interface ApproverWorld {
  random: Random;
  features: FeatureSet;
  gates: Gates;
  log: Observer;
}

export function drawnApprover({ random, features, gates, log }: ApproverWorld): ApproveFn {
  return (call) => {
    const toolCallId = call.payload.tool_call_id;
    const isQuick = random.chance(0.5);
    const drawn = random.weighted([20, 3, 1, 1, 1]);
    const isRefused = drawn > 0 && drawn < 4 && features.has("denials");
    log.add({ at: "asked", call });
    if (drawn === 4 && features.has("silent parts")) {
      log.add({ at: "decided", toolCallId, answer: "never" });
      return gates.never(`nobody decides about ${toolCallId}`);
    }
    if (isRefused && drawn === 2) {
      log.add({ at: "decided", toolCallId, answer: "throw" });
      throw new Error("the approver broke");
    }
    const answer = async (): Promise<"allow" | "deny"> => {
      if (!isQuick) await gates.pass("approver", `approver decides about ${toolCallId}`);
      log.add({ at: "decided", toolCallId, answer: !isRefused ? "allow" : drawn === 3 ? "throw" : "deny" });
      if (isRefused && drawn === 3) throw new Error("the approver broke later");
      return isRefused ? "deny" : "allow";
    };
    return answer();
  };
}
