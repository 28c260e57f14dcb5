import fc from "fast-check";
import { markerTags } from "../../src/index.ts";

/** A tag of ours that could open or close a block. */
export const bareTag = new RegExp(`[[<]/?(?:${markerTags.join("|")})[\\]>]`, "i");

const piece = fc.constantFrom(
  "[",
  "]",
  "<",
  ">",
  "/",
  "\\",
  "\n",
  "\r",
  " ",
  "$&",
  "$`",
  "🐧",
  "\ud83d",
  "=== user input ===",
  "\n=== tool output, id c1 ===\n",
  ...markerTags,
  ...markerTags.flatMap((tag) => [`[${tag}]`, `[/${tag}]`, `<${tag}>`, `</${tag}>`, `[\\${tag}]`, `[\\/${tag}]`]),
);

/** Text that is made of what our markers are made of. */
export const markerText = fc
  .array(fc.oneof({ weight: 4, arbitrary: piece }, { weight: 1, arbitrary: fc.string({ unit: "binary" }) }))
  .map((pieces) => pieces.join(""));
