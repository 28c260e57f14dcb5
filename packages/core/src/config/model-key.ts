/** Where the key of a model is kept, and whether it needs one. */
import { knownProvider } from "../llm/provider/known-providers.ts";
import { addressOf, protocolOf } from "./model-entry.ts";
import type { ModelEntry } from "./project-config.ts";

export type Variables = Readonly<Record<string, string | undefined>>;

export interface StoredKey {
  key: string;
  /** The environment variable that holds it. Absent: the configuration file does. */
  variable?: string | undefined;
}

/** `unknown`: there is none, and nobody knows whether the server wants one. */
export type KeyOrigin =
  | { from: "file" | "none-needed" | "unknown" }
  | { from: "environment" | "missing" /** The environment variable. */; variable: string };

/** The file's comes first. */
export function storedKey(entry: ModelEntry, env: Variables): StoredKey | undefined {
  const inFile = entry.apiKey?.trim() ?? "";
  if (inFile !== "") return { key: inFile };
  const variable = knownProvider(entry.provider)?.apiKeyVariable;
  const inEnvironment = variable === undefined ? "" : (env[variable] ?? "").trim();
  return inEnvironment === "" ? undefined : { key: inEnvironment, variable };
}

/** Where the key of a model comes from; never the key. */
export function keyOrigin(entry: ModelEntry, env: Variables): KeyOrigin {
  const stored = storedKey(entry, env);
  if (stored?.variable !== undefined) return { from: "environment", variable: stored.variable };
  if (stored !== undefined) return { from: "file" };
  const address = addressOf(entry);
  const isOnThisMachine = address !== undefined && isLoopback(address);
  if (isOnThisMachine || protocolOf(entry) === "offline") return { from: "none-needed" };
  const variable = knownProvider(entry.provider)?.apiKeyVariable;
  return variable === undefined ? { from: "unknown" } : { from: "missing", variable };
}

/** Keys go into a header. */
export function isPossibleKey(key: string): boolean {
  return /^[\x21-\x7e]+$/.test(key);
}

export function isLoopback(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { hostname } = new URL(address);
  return (
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    hostname === "[::1]" ||
    /^127(\.\d+){3}$/.test(hostname)
  );
}
