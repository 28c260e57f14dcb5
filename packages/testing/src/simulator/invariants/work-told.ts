/**
 * What a tool did is told to the model with each request, in place or in a block, until a compaction has taken it: whoever
 * does not know that a call was made makes it again.
 */
import { isPayload, type OmniMessage, type ToolCallOutputPayload } from "@coxswain/core";
import type { Observation, RunEnd } from "../observation.ts";
import { comparable } from "../texts.ts";
import type { Invariant } from "./invariant.ts";

export const workTold: Invariant = {
  name: "work told",
  watch: () => new WorkWatcher(),
};

type Output = OmniMessage<ToolCallOutputPayload>;

/** Nothing that a block has to quote otherwise than it stands. */
const plainText = /^[\w {}":]*$/;

class WorkWatcher {
  /** As the engine was told of its records; and as they are in the Trace, where those that a disk refuses come later. */
  #told = new Work();
  readonly #inTrace = new Work();
  /** What each request for a summary told, by the number of compactions that were completed before it. */
  readonly #absorbed: (readonly OmniMessage[])[] = [];

  see(seen: Observation): string | undefined {
    switch (seen.at) {
      case "process":
        this.#told = this.#inTrace.copy();
        return seen.resumed === undefined ? undefined : this.#untold(known(seen.resumed.state));
      case "landed":
        this.#inTrace.apply(seen.record, this.#absorbed);
        return undefined;
      case "settled":
        this.#told.apply(seen.record, this.#absorbed);
        return undefined;
      case "request": {
        const told = [...seen.history, ...seen.input];
        if (seen.purpose === "turn") return this.#untold(told);
        this.#absorbed[this.#told.compactions] = told;
        return undefined;
      }
      case "ended":
        return seen.end.records === undefined ? undefined : this.#untold(known(seen.end.state));
      default:
        return undefined;
    }
  }

  #untold(messages: readonly OmniMessage[]): string | undefined {
    const { done } = this.#told;
    if (done.size === 0) return undefined;
    const inPlace = new Map<string, OmniMessage>();
    const texts: string[] = [];
    for (const message of messages) {
      if (isPayload(message, "tool_call_output")) inPlace.set(message.payload.tool_call_id, message);
      else if (isPayload(message, "text") && message.payload.sender === "harness") texts.push(message.payload.text);
    }
    for (const [id, output] of done) {
      const told = inPlace.get(id);
      if (told === undefined ? !isQuoted(texts, id, output) : comparable(told) !== comparable(output)) {
        return `${id} has the output ${comparable(output)}, and the model is told ${told === undefined ? "nothing of it" : comparable(told)}`;
      }
    }
    return undefined;
  }
}

class Work {
  /** Outputs, by call, until a compaction has taken them. */
  readonly done = new Map<string, Output>();
  /** That were completed. */
  compactions = 0;

  apply(record: OmniMessage, absorbed: readonly (readonly OmniMessage[])[]): void {
    const { payload } = record;
    // Ids come again in another context.
    if (payload.type === "tool_call") this.done.delete(payload.tool_call_id);
    else if (isPayload(record, "tool_call_output")) this.done.set(record.payload.tool_call_id, record);
    else if (payload.type === "compaction_end" && payload.status === "completed") {
      const taken = payload.mode === "discard" ? undefined : absorbed[this.compactions];
      for (const id of this.done.keys()) if (taken === undefined || mentions(taken, id)) this.done.delete(id);
      this.compactions += 1;
    }
  }

  copy(): Work {
    const copy = new Work();
    for (const [id, output] of this.done) copy.done.set(id, output);
    copy.compactions = this.compactions;
    return copy;
  }
}

function known({ history, carryOver }: RunEnd["state"]): OmniMessage[] {
  return [...history, ...carryOver];
}

/** Whether some block tells of the call and of its output. */
function isQuoted(texts: readonly string[], id: string, { payload }: Output): boolean {
  const label = new RegExp(`^=== tool output, id ${id}(?:, \\w+)? ===\n(.*)`, "gm");
  return texts.some((text) => {
    // A process that died may have given the same id before.
    const quoted = [...text.matchAll(label)].map(([, output]) => output);
    const isThere = plainText.test(payload.output) ? quoted.includes(payload.output) : quoted.length > 0;
    return isThere && new RegExp(`^=== tool call .*, id ${id} ===$`, "m").test(text);
  });
}

function mentions(messages: readonly OmniMessage[], id: string): boolean {
  return messages.some(({ payload }) => {
    if (payload.type === "tool_call_output") return payload.tool_call_id === id;
    return payload.type === "text" && payload.role === "user" && payload.text.includes(`tool output, id ${id}`);
  });
}
