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
  return { ok: false, problem: `is ${JSON.stringify(shownAddress(text))}, but must be ${expected}` };
}

/** As it may be shown: without what can be a password or a key. */
export function shownAddress(text: string): string {
  const shown = shortened(text, maxShownLength);
  if (!URL.canParse(text)) return shown;
  const { username, search, hash, protocol, host, pathname } = new URL(text);
  if (username === "" && search === "" && hash === "") return shown;
  const more = search === "" && hash === "" ? "" : "?…";
  return shortened(`${protocol}//${username === "" ? "" : "…@"}${host}${pathname}${more}`, maxShownLength);
}

/** What is pasted from documentation along with the address. */
const endOfRequest = /(\/(?:chat\/completions|responses|messages))\/*$/;

function expectedOf(url: URL | undefined): string | undefined {
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    return "an address that begins with https:// (or http://)";
  }
  if (url.username !== "" || url.password !== "") return "an address without a user; put the key into api_key";
  const tail = endOfRequest.exec(url.pathname)?.[1];
  if (tail !== undefined) return `the address in front of ${tail}, which is added to it`;
  return url.search !== "" || url.hash !== "" ? 'an address without "?" and "#"' : undefined;
}
