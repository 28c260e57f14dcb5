/** Texts that must not get out, such as keys: which of them are looked for, and what stands in their place. */

/** What a reader sees instead of a secret. */
export const mask = "[redacted]";

/** Shorter ones would match ordinary words. */
const minSecretLength = 8;

/** Those of at least 8 characters, each once, longest first: one may be a part of another. */
export function usableSecrets(secrets: readonly string[]): string[] {
  return [...new Set(secrets)].filter((secret) => secret.length >= minSecretLength).sort((a, b) => b.length - a.length);
}
