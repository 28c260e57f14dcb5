/** A process that has taken every descriptor but three, and then all for a moment: prints how many marked ones it finds. */
import { closeSync, openSync } from "node:fs";
import { processTable } from "../../../src/environment/command/process-table.ts";

const [marker = ""] = process.argv.slice(2);
const descriptors: number[] = [];

function takeAll(): void {
  try {
    for (;;) descriptors.push(openSync("/dev/null", "r"));
  } catch {
    // There is none left.
  }
}

function giveBack(count: number): void {
  for (const descriptor of descriptors.splice(0, count)) closeSync(descriptor);
}

async function found(looking = processTable()): Promise<number> {
  return (await looking).filter((entry) => entry.marker === marker).length;
}

takeAll();
giveBack(3);
const few = await found();
takeAll();
const looking = processTable();
giveBack(3);
const none = await found(looking);
giveBack(descriptors.length);
process.stdout.write(`${few} ${none}\n`);
