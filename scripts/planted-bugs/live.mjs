// A process that lives through seeds with the engine of one copy, until a rule is broken. Its last line says which.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [copy, from, to] = process.argv.slice(2);
const module = join(copy, "node_modules/@coxswain/testing/dist/simulator/simulate.js");
const { simulate } = await import(pathToFileURL(module).href);

let found = {};
for (let seed = Number(from); seed <= Number(to) && found.seed === undefined; seed += 1) {
  const { violation } = await simulate({ seed });
  if (violation !== undefined) found = { seed, rule: violation.invariant, problem: violation.problem };
}
console.log(JSON.stringify(found));
