/** What a person says while a Task runs, as its own user text. */
import { escapeMarkers, markerBlock, readMarkerContent } from "./grammar.ts";

export function steeringText(text: string): string {
  return markerBlock("user_steering", escapeMarkers(text));
}

/** The person's words, exactly; `undefined` when the text is no steering block. */
export function readSteering(text: string): string | undefined {
  return readMarkerContent("user_steering", text);
}
