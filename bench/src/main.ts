/** Runs the workloads, prints the table, writes it to RESULTS.md, and fails when a target is missed. */
import { writeFileSync } from "node:fs";
import { arch, cpus, platform } from "node:os";
import { fileURLToPath } from "node:url";
import type { Figure } from "./measure.ts";
import { chatStream } from "./workloads/chat-stream.ts";
import { deltas } from "./workloads/deltas.ts";
import { interrupt } from "./workloads/interrupt.ts";
import { longSession } from "./workloads/long-session.ts";
import { parallelCalls } from "./workloads/parallel.ts";
import { protocolStreams } from "./workloads/protocol-streams.ts";
import { manySessions } from "./workloads/sessions.ts";
import { trace } from "./workloads/trace.ts";
import { manyTurns } from "./workloads/turns.ts";

const workloads = {
  deltas,
  turns: manyTurns,
  parallel: parallelCalls,
  long: longSession,
  sessions: manySessions,
  trace,
  chat: chatStream,
  interrupt,
  protocols: protocolStreams,
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(workloads, name));
if (unknown.length > 0) {
  console.error(`there is no workload ${unknown.join(", ")}; there are ${Object.keys(workloads).join(", ")}`);
  process.exit(2);
}

const processors = cpus();
const machine = `${processors.length} × ${processors[0]?.model ?? "unknown processor"}, ${platform()} ${arch()}, Node ${process.version}`;
console.log(`${machine}\n`);

const figures: Figure[] = [];
for (const [name, workload] of Object.entries(workloads)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  for (const figure of await workload()) {
    figures.push(figure);
    console.log(
      `${figure.isMet ? "met   " : "MISSED"} ${figure.workload}: ${figure.measured} (floor ${figure.floor}; target ${figure.target})`,
    );
  }
}

if (wanted.length === 0) {
  const rows = figures.map(
    (figure) =>
      `| ${figure.workload} | ${figure.floor} | ${figure.measured} | ${figure.target} | ${figure.isMet ? "met" : "missed"} |`,
  );
  writeFileSync(
    fileURLToPath(new URL("../RESULTS.md", import.meta.url)),
    [
      "# Results",
      "",
      `Written by \`npm run bench\` on ${machine}. Medians, each against a floor taken in the same run. Every workload`,
      "goes through the public `session.run` with the file Trace and an `approve` callback, and fails if a record is missing;",
      "the two rows of the Trace alone are without the engine, and those of the protocols end at the model context.",
      "",
      "| workload | floor | measured | target | |",
      "| --- | --- | --- | --- | --- |",
      ...rows,
      "",
    ].join("\n"),
  );
}
process.exitCode = figures.every((figure) => figure.isMet) ? 0 : 1;
