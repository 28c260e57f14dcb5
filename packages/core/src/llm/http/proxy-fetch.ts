/** The `fetch` for a model: through the proxy that the environment names, and as patient as the model's limits. */
import { shortened } from "../../shared/cut.ts";
import { ModelSupportError } from "../model-support-error.ts";
import type { FetchFunction } from "./model-fetch.ts";

export interface FetchForOptions {
  /** The longest silence that the caller wants to wait out, before the head of an answer or within its body. */
  silenceMs?: number | undefined;
}

type Variables = Readonly<Record<string, string | undefined>>;

const maxShownLength = 60;

/** After so long a silence the global `fetch` gives up by itself. */
const globalSilenceMs = 300_000;

/**
 * The global `fetch` where it will do; otherwise one that respects `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, and has
 * no limits of its own to how long an answer is silent.
 *
 * @throws ModelSupportError for a variable that names no proxy
 */
export async function fetchFor(env: Variables, { silenceMs = 0 }: FetchForOptions = {}): Promise<FetchFunction> {
  const ofHttp = given(env, "http_proxy", "HTTP_PROXY");
  const ofHttps = given(env, "https_proxy", "HTTPS_PROXY");
  const isProxied = ofHttp !== undefined || ofHttps !== undefined;
  if (!isProxied && silenceMs <= globalSilenceMs) return globalThis.fetch;
  const { Agent, EnvHttpProxyAgent, fetch, ProxyAgent } = await import("undici");
  for (const variable of [ofHttps, ofHttp]) {
    if (variable !== undefined) checkProxy(variable, (address) => new ProxyAgent(address));
  }
  const patience = { headersTimeout: 0, bodyTimeout: 0 };
  const proxies = {
    ...(ofHttp !== undefined && { httpProxy: ofHttp.value }),
    ...(ofHttps !== undefined && { httpsProxy: ofHttps.value }),
    noProxy: given(env, "no_proxy", "NO_PROXY")?.value ?? "",
  };
  const dispatcher = isProxied ? new EnvHttpProxyAgent({ ...patience, ...proxies }) : new Agent(patience);
  const patient = (url: Parameters<typeof fetch>[0], init?: Parameters<typeof fetch>[1]) =>
    fetch(url, { ...init, dispatcher });
  // The package's types and the global ones describe the same objects under different names.
  return patient as unknown as FetchFunction;
}

interface Variable {
  name: string;
  value: string;
}

/** The first of the names that says something. */
function given(env: Variables, ...names: string[]): Variable | undefined {
  const name = names.find((one) => (env[one] ?? "") !== "");
  return name === undefined ? undefined : { name, value: env[name] ?? "" };
}

/** What the package says of an address does not tell which variable it is from. */
function checkProxy({ name, value }: Variable, open: (address: string) => unknown): void {
  try {
    open(value);
  } catch {
    // What a password in the address is must not be shown, and the package's error holds it.
    const shown = value.includes("@") ? "no address" : JSON.stringify(shortened(value, maxShownLength));
    throw new ModelSupportError(
      `the environment variable ${name} is ${shown}, but must be the address of a proxy, such as http://127.0.0.1:3128`,
    );
  }
}
