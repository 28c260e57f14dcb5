/** A tool made with the SDK, as anybody could: it only reads, takes its time, and can be stopped in the middle. */
import { setTimeout as delay } from "node:timers/promises";
import { defineTool } from "@coxswain/core";

const betweenReadingsMs = 150;

export const tideTool = defineTool<{ readings: number }>({
  name: "read_tide",
  description: "Reads the tide gauge several times, one line for each reading.",
  parameters: {
    type: "object",
    properties: { readings: { type: "integer", minimum: 1, maximum: 200 } },
    required: ["readings"],
    additionalProperties: false,
  },
  permission: "r",
  async *execute({ readings }, { signal }) {
    for (let reading = 1; reading <= readings; reading += 1) {
      yield `reading ${reading}: ${(1.8 + reading / 100).toFixed(2)} m, rising\n`;
      await delay(betweenReadingsMs, undefined, { signal });
    }
  },
});
