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
  watch: () => {
    const watcher = new WorkWatcher();
    return (seen) => watcher.see(seen);
  },
};

type Output = OmniMessage<ToolCallOutputPayload>;

/** Nothing that a block has to quote otherwise than it stands. */
const plainText = /^[\w {}":]*$/;

class WorkWatcher {
  /** Outputs in the Trace, by call, until a compaction has taken them. */
  #done = new Map<string, Output>();
  #mode = "summarize";
  /** Told with the newest request for a summary. */
  #absorbed: readonly OmniMessage[] = [];

  see(seen: Observation): string | undefined {
    switch (seen.at) {
      case "process":
        this.#mode = seen.compactionMode;
        return seen.resumed === undefined ? undefined : this.#untold(known(seen.resumed.state));
      case "landed":
        this.#landed(seen.record);
        return undefined;
      case "request": {
        const told = [...seen.history, ...seen.input];
        if (seen.purpose === "turn") return this.#untold(told);
        // Their records may land later: a disk that failed takes them once it works again.
        this.#absorbed = told;
        return undefined;
      }
      case "ended":
        return seen.end.records === undefined ? undefined : this.#untold(known(seen.end.state));
      default:
        return undefined;
    }
  }

  #landed(record: OmniMessage): void {
    const { payload } = record;
    // Ids come again in another context.
    if (payload.type === "tool_call") this.#done.delete(payload.tool_call_id);
    else if (isPayload(record, "tool_call_output")) this.#done.set(record.payload.tool_call_id, record);
    else if (payload.type === "compaction_end" && payload.status === "completed") {
      if (this.#mode === "discard") this.#done.clear();
      for (const id of this.#done.keys()) if (mentions(this.#absorbed, id)) this.#done.delete(id);
    }
  }

  #untold(messages: readonly OmniMessage[]): string | undefined {
    if (this.#done.size === 0) return undefined;
    const inPlace = new Map<string, OmniMessage>();
    const texts: string[] = [];
    for (const message of messages) {
      if (isPayload(message, "tool_call_output")) inPlace.set(message.payload.tool_call_id, message);
      else if (isPayload(message, "text") && message.payload.sender === "harness") texts.push(message.payload.text);
    }
    for (const [id, output] of this.#done) {
      const told = inPlace.get(id);
      if (told === undefined ? !isQuoted(texts, id, output) : comparable(told) !== comparable(output)) {
        return `${id} has the output ${comparable(output)}, and the model is told ${told === undefined ? "nothing of it" : comparable(told)}`;
      }
    }
    return undefined;
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
