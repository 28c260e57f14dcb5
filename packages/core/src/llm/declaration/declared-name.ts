/** Names of tools as every provider takes them. */
import { createHash } from "node:crypto";

/** What all providers take; one of them wants a letter or an underscore in front. */
const fitting = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const hashDigits = 8;
const longestWords = 64 - hashDigits - 1;

/**
 * The name that a provider takes for a tool's own. A name that must be changed carries digits of its hash, so that two of
 * them stay two. Pure, so that history and a resumed Session agree.
 */
export function declaredName(ownName: string): string {
  const name = ownName.toWellFormed();
  // Who keeps tools in a plain object, by name, finds what every object has.
  if (fitting.test(name) && !(name in Object.prototype)) return name;
  const words = name.slice(0, 1_000).replace(/[^A-Za-z0-9_-]+/g, "_");
  const begun = /^[A-Za-z_]/.test(words) ? words : `_${words}`;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, hashDigits);
  return `${/[A-Za-z0-9]/.test(begun) ? begun.slice(0, longestWords) : "tool"}_${hash}`;
}
