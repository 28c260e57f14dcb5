/** A validator's errors in words that name the argument. */
import type { OutputUnit } from "@cfworker/json-schema";

/** Keywords whose error only repeats that something below them does not fit. */
const containers = new Set([
  "properties",
  "additionalProperties",
  "patternProperties",
  "items",
  "prefixItems",
  "additionalItems",
  "$ref",
  "allOf",
  "anyOf",
  "oneOf",
  "if",
  "then",
  "else",
]);
const maxLines = 8;

export function schemaMismatch(errors: readonly OutputUnit[]): string {
  const leaves = errors.filter((error) => !containers.has(error.keyword));
  const named = leaves.filter((error) => error.keyword !== "false");
  const unknown = leaves.filter(
    (error) =>
      error.keyword === "false" && !named.some((other) => isBelow(other.instanceLocation, error.instanceLocation)),
  );
  const lines = [
    ...named.map((error) => `${argumentName(error.instanceLocation)}${words(error)}`),
    ...unknown.map((error) => `${argumentName(error.instanceLocation)}there is no such argument.`),
  ];
  const distinct = [...new Set(lines.length > 0 ? lines : errors.map((error) => error.error))];
  return distinct.slice(0, maxLines).join("\n");
}

function isBelow(location: string, ancestor: string): boolean {
  return location === ancestor || location.startsWith(`${ancestor}/`);
}

function argumentName(location: string): string {
  const steps = location
    .split("/")
    .slice(1)
    .map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
  return steps.length === 0 ? "" : `${steps.join(".")}: `;
}

function words(error: OutputUnit): string {
  const missing = /required property "(.*)"\.$/s.exec(error.error)?.[1];
  if (error.keyword === "required" && missing !== undefined) return `${missing}: is missing.`;
  const type = /^Instance type "(.*)" is invalid\. Expected "(.*)"\.$/s.exec(error.error);
  if (type !== null) return `must be of type ${type[2]?.replaceAll('", "', " or ")}, not ${type[1]}.`;
  return error.error.replace(/^Instance /, "");
}
