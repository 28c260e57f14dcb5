/** `fetch` through the proxy that the environment names. */
import type { FetchFunction } from "../chat-completions/model.ts";

const proxyVariables = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

function hasProxy(environment: Readonly<Record<string, string | undefined>>): boolean {
  return proxyVariables.some((name) => (environment[name] ?? "") !== "");
}

/** The global `fetch`, or one that respects `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`. */
export async function fetchFor(environment: Readonly<Record<string, string | undefined>>): Promise<FetchFunction> {
  if (!hasProxy(environment)) return globalThis.fetch;
  const { EnvHttpProxyAgent, fetch } = await import("undici");
  const pick = (...names: string[]): string => names.map((name) => environment[name] ?? "").find(Boolean) ?? "";
  const httpProxy = pick("http_proxy", "HTTP_PROXY");
  const httpsProxy = pick("https_proxy", "HTTPS_PROXY");
  const dispatcher = new EnvHttpProxyAgent({
    ...(httpProxy !== "" && { httpProxy }),
    ...(httpsProxy !== "" && { httpsProxy }),
    noProxy: pick("no_proxy", "NO_PROXY"),
  });
  const proxied = (url: Parameters<typeof fetch>[0], init?: Parameters<typeof fetch>[1]) =>
    fetch(url, { ...init, dispatcher });
  // The package's types and the global ones describe the same objects under different names.
  return proxied as unknown as FetchFunction;
}
