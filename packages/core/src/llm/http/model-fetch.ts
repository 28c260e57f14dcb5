/** `fetch` for everything that talks to a provider: what goes wrong on the way becomes a `ProviderFault`. */
import { mask, usableSecrets } from "../../shared/secrets.ts";
import { type HideKeys, ProviderFault } from "../fault/provider-fault.ts";

export type FetchFunction = typeof globalThis.fetch;

export interface ModelFetchOptions {
  fetch: FetchFunction;
  /** Takes the keys out of whatever the server says. */
  hideKeys: HideKeys;
}

/** Bytes read of an error's body. */
const maxErrorBytes = 64 * 1024;
/** How long the body of an error may take. */
const maxErrorMs = 2_000;

/**
 * Rejects with a `ProviderFault` when the request fails or is refused; with the signal's own error when it was stopped.
 * Follows no redirect: `fetch` would send keys on in headers that it does not know to be keys.
 */
export function modelFetch({ fetch, hideKeys }: ModelFetchOptions): FetchFunction {
  return async (url, init) => {
    const response = await send(fetch, hideKeys, url, { ...init, redirect: "manual" });
    if (response.ok) return response;
    const { status } = response;
    const target = response.headers.get("location");
    if (status >= 300 && status < 400 && target !== null) {
      response.body?.cancel().catch(() => undefined);
      throw new ProviderFault({ kind: "redirect", status, target: addressOf(target, url) }, hideKeys);
    }
    const headers = Object.fromEntries(response.headers);
    throw new ProviderFault({ kind: "http", status, headers, body: await readError(response) }, hideKeys);
  };
}

export function keyHider(apiKey: string | undefined): HideKeys {
  const [key] = usableSecrets([apiKey ?? ""]);
  return (text) => (key === undefined ? text : text.replaceAll(key, mask));
}

async function send(
  fetch: FetchFunction,
  hideKeys: HideKeys,
  ...[url, init]: Parameters<FetchFunction>
): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (init?.signal?.aborted === true) throw error;
    throw new ProviderFault({ kind: "exception", error }, hideKeys);
  }
}

/** Without query and fragment, which can hold what nobody else should see. */
function addressOf(target: string, from: Parameters<FetchFunction>[0]): string {
  const base = from instanceof Request ? from.url : String(from);
  if (!URL.canParse(target, base)) return "no valid address";
  const { origin, pathname, protocol } = new URL(target, base);
  return origin === "null" ? `an address that begins with ${protocol}` : `${origin}${pathname}`;
}

/** As much of the body as arrives soon; a body that breaks off or does not end does not hide the status. */
async function readError(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return "";
  const timer = setTimeout(() => void reader.cancel().catch(() => undefined), maxErrorMs);
  try {
    return await readHead(reader);
  } finally {
    clearTimeout(timer);
  }
}

async function readHead(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  try {
    while (size < maxErrorBytes) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      size += value.byteLength;
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    return text;
  }
  reader.cancel().catch(() => undefined);
  return text;
}
