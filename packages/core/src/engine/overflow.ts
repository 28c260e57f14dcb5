/** What to do when the provider says that the input does not fit: one compaction, and the input once more. */
import { isPayload, type OmniMessage } from "@coxswain/protocol";
import { compact } from "./compaction.ts";
import { compactability } from "./compaction-policy.ts";
import type { Run } from "./run.ts";

/** About how many characters a token has, to be on the safe side. */
const charactersPerToken = 3;
/** What is left of an output at least. */
const minOutputLength = 500;

/**
 * @returns Whether there is something to send to a context with room for it.
 * @throws Interrupted
 */
export async function makeRoom(run: Run): Promise<boolean> {
  const { compaction, ledger } = run.parts;
  if (compaction === undefined || compactability(ledger, true) !== "ok") return false;
  const { maxContextLength, prompt } = compaction.settings;
  const refused = ledger.requestInput().filter((message) => isPayload(message, "tool_call_output"));
  const room = (maxContextLength - ledger.lastRequestTotal) * charactersPerToken - prompt.length;
  const isDone = await compact(run, "context", compaction, cutOutputs(refused, room));
  return isDone && (ledger.owesInput || ledger.pendingSummary !== undefined);
}

/** Outputs without their images, each cut to head and tail so that all together are about as long as there is room. */
function cutOutputs(outputs: readonly OmniMessage[], room: number): OmniMessage[] {
  const limit = Math.max(minOutputLength, Math.floor(room / Math.max(1, outputs.length)));
  return outputs.map((message) => {
    if (!isPayload(message, "tool_call_output")) return message;
    const { images: _, ...payload } = message.payload;
    return { ...message, payload: { ...payload, output: headAndTail(payload.output, limit) } };
  });
}

function headAndTail(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  const left = text.length - 2 * half;
  return `${text.slice(0, half)}\n[${left} characters left out]\n${text.slice(-half)}`.toWellFormed();
}
