/** The record of a Session that keeps no Trace: in memory, as long as the Session lives. */
import type { OmniMessage } from "@coxswain/protocol";
import type { TraceSink } from "../engine/ports.ts";

export interface KeptRecords {
  sink: TraceSink;
  /** Copies of the lists, oldest first: what is written later is not in them. */
  contexts(): { messages: readonly OmniMessage[] }[];
}

const kept = Promise.resolve();

export function keepRecords(): KeptRecords {
  let newest: OmniMessage[] = [];
  const contexts = [newest];
  return {
    sink: {
      write(message) {
        newest.push(message);
        return kept;
      },
      writeAll(messages) {
        for (const message of messages) newest.push(message);
        return undefined;
      },
      rotate() {
        newest = [];
        contexts.push(newest);
        return kept;
      },
    },
    contexts: () => contexts.map((messages) => ({ messages: [...messages] })),
  };
}
