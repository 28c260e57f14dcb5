/** `session` counts are the sum of the `request` counts of all requests, also of failed ones and of compactions. */
import { emptyTokenCounts, isPayload, type TokenCounts } from "@coxswain/core";
import type { Observation } from "../observation.ts";
import type { Invariant } from "./invariant.ts";

export const accounts: Invariant = {
  name: "accounts",
  watch: () => new AccountWatcher(),
};

class AccountWatcher {
  #sum = emptyTokenCounts();
  /** Told by the model and not in a record yet. */
  #unrecorded: TokenCounts[] = [];
  #isInterrupted = false;

  see(seen: Observation): string | undefined {
    switch (seen.at) {
      case "process":
      case "run":
        this.#unrecorded = [];
        this.#isInterrupted = false;
        return undefined;
      case "interrupted":
        this.#isInterrupted = true;
        return undefined;
      case "said":
        if (isPayload(seen.message, "token_usage")) this.#unrecorded.push(seen.message.payload.request);
        return undefined;
      case "answered":
        if (seen.outcome !== "threw" && seen.outcome.usage !== undefined) this.#unrecorded.push(seen.outcome.usage);
        return undefined;
      case "landed":
        return isPayload(seen.record, "token_usage") ? this.#counted(seen.record.payload) : undefined;
      case "ended": {
        const { records, state } = seen.end;
        if (records === undefined) return undefined;
        if (!this.#isInterrupted && this.#unrecorded.length > 0) return `no record of ${show(this.#unrecorded[0])}`;
        return isSame(state.sessionTokens, this.#sum)
          ? undefined
          : `the state says ${show(state.sessionTokens)}, the records add up to ${show(this.#sum)}`;
      }
      default:
        return undefined;
    }
  }

  #counted({ session, request }: { session: TokenCounts; request: TokenCounts }): string | undefined {
    this.#sum = plus(this.#sum, request);
    this.#unrecorded = this.#unrecorded.filter((counts, index) => index > 0 || !isSame(counts, request));
    return isSame(session, this.#sum) ? undefined : `session says ${show(session)}, the sum is ${show(this.#sum)}`;
  }
}

/** Not the engine's own addition, which may be wrong. */
function plus(one: TokenCounts, other: TokenCounts): TokenCounts {
  const { input, cache_read: read, cache_write: written, output, total } = other;
  return {
    input: one.input + input,
    cache_read: one.cache_read + read,
    cache_write: one.cache_write + written,
    output: one.output + output,
    total: one.total + total,
  };
}

function isSame(one: TokenCounts, other: TokenCounts): boolean {
  return show(one) === show(other);
}

function show(counts: TokenCounts | undefined): string {
  if (counts === undefined) return "nothing";
  return `${counts.input}+${counts.cache_read}+${counts.cache_write}+${counts.output}=${counts.total}`;
}
