/** The address of a model's server, as a person or a program gives it. */
import { shortened } from "../../shared/cut.ts";

const maxShownLength = 60;

export type BaseUrlResult =
  /** Without a slash at its end. */
  | { ok: true; url: string }
  /** Says what it is and what it must be. */
  | { ok: false; problem: string };

export function readBaseUrl(text: string): BaseUrlResult {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const expected = expectedOf(url);
  if (url !== undefined && expected === undefined) return { ok: true, url: url.href.replace(/\/+$/, "") };
  // What a password in the address is must not be shown.
  const hasPassword = url !== undefined && url.password !== "";
  const shown = hasPassword ? "an address with a password" : JSON.stringify(shortened(text, maxShownLength));
  return { ok: false, problem: `is ${shown}, but must be ${expected}` };
}

function expectedOf(url: URL | undefined): string | undefined {
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    return "an address that begins with https:// (or http://)";
  }
  if (url.username !== "" || url.password !== "") return "an address without a user; put the key into api_key";
  return url.search !== "" || url.hash !== "" ? 'an address without "?" and "#"' : undefined;
}
