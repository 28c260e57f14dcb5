/** Scenario files of the offline model: what it says and calls, one step for each request. */
import { type StopReason, stopReasons } from "@coxswain/protocol";
import { headOf } from "../../shared/cut.ts";
import { wordsOf } from "../../shared/error-words.ts";
import { isRecord } from "../../shared/json.ts";

export interface ScenarioCall {
  name: string;
  /** JSON text; what a file gives as a mapping is written as JSON. `{{PROCESS_ID}}` is the last one that was told. */
  arguments: string;
}

export interface ScenarioStep {
  thinking?: string;
  text?: string;
  calls?: ScenarioCall[];
  /** Milliseconds before the answer begins. */
  delayMs?: number;
  /** Plays a request that ends so after it has said what it says. Default: `completed`. */
  end?: StopReason;
}

export interface Scenario {
  steps: ScenarioStep[];
}

/** One line: the file, the line, the field, and what would be right. */
export class ScenarioError extends Error {
  override readonly name = "ScenarioError";
}

type Path = readonly (string | number)[];

const stepFields = ["thinking", "text", "calls", "delay_ms", "end"];

/** @throws ScenarioError */
export async function parseScenario(text: string, fileName: string): Promise<Scenario> {
  const { LineCounter, parseDocument } = await import("yaml");
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const syntaxError = document.errors[0];
  if (syntaxError !== undefined) {
    const { line } = lines.linePos(syntaxError.pos[0]);
    throw new ScenarioError(`${fileName}:${line}: not readable as YAML: ${syntaxError.message.split("\n")[0]}`);
  }
  const lineOf = (path: Path): number => {
    for (let length = path.length; length >= 0; length -= 1) {
      const node: unknown = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
      const range = isRecord(node) ? node["range"] : undefined;
      if (Array.isArray(range)) return lines.linePos(Number(range[0])).line;
    }
    return 1;
  };
  const reader = new ScenarioReader((path, problem) => {
    const field = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`)).join("");
    return new ScenarioError(`${fileName}:${lineOf(path)}: ${field.replace(/^\./, "") || "the file"} ${problem}`);
  });
  return reader.scenario(toPlain(document));
}

/** An alias bomb is refused by the parser; its message is one line already. */
function toPlain(document: { toJS(): unknown }): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new ScenarioError(wordsOf(error));
  }
}

class ScenarioReader {
  readonly #problem: (path: Path, problem: string) => ScenarioError;

  constructor(problem: (path: Path, problem: string) => ScenarioError) {
    this.#problem = problem;
  }

  scenario(value: unknown): Scenario {
    if (!isRecord(value) || !Array.isArray(value["steps"]) || value["steps"].length === 0) {
      throw this.#problem([], "must be a mapping with a list of `steps`, one or more");
    }
    this.#refuseOthers(value, ["steps"], []);
    return { steps: value["steps"].map((step, index) => this.#step(step, ["steps", index])) };
  }

  #step(value: unknown, path: Path): ScenarioStep {
    if (!isRecord(value)) throw this.#problem(path, `must be a mapping of ${stepFields.join(", ")}`);
    this.#refuseOthers(value, stepFields, path);
    const step: ScenarioStep = {};
    const thinking = this.#text(value["thinking"], [...path, "thinking"]);
    const text = this.#text(value["text"], [...path, "text"]);
    if (thinking !== undefined) step.thinking = thinking;
    if (text !== undefined) step.text = text;
    const { calls, delay_ms: delayMs, end } = value;
    if (calls !== undefined) {
      if (!Array.isArray(calls)) throw this.#problem([...path, "calls"], "must be a list of calls");
      step.calls = calls.map((call, index) => this.#call(call, [...path, "calls", index]));
    }
    if (delayMs !== undefined) {
      const isDelay = typeof delayMs === "number" && Number.isFinite(delayMs) && delayMs >= 0;
      if (!isDelay) throw this.#problem([...path, "delay_ms"], `must be milliseconds, 0 or more, not ${show(delayMs)}`);
      step.delayMs = delayMs;
    }
    if (end !== undefined) {
      const known = stopReasons.find((reason) => reason === end);
      if (known === undefined) {
        throw this.#problem([...path, "end"], `must be one of ${stopReasons.join(", ")}, not ${show(end)}`);
      }
      step.end = known;
    }
    return step;
  }

  #call(value: unknown, path: Path): ScenarioCall {
    if (!isRecord(value)) throw this.#problem(path, "must be a mapping of name and arguments");
    this.#refuseOthers(value, ["name", "arguments"], path);
    const { name, arguments: given } = value;
    if (typeof name !== "string" || name === "") throw this.#problem([...path, "name"], "must be the name of a tool");
    if (given === undefined || given === null) return { name, arguments: "{}" };
    if (typeof given === "string") return { name, arguments: given };
    if (!isRecord(given)) throw this.#problem([...path, "arguments"], "must be a mapping, or JSON as a text");
    return { name, arguments: JSON.stringify(given) };
  }

  #text(value: unknown, path: Path): string | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value !== "string") throw this.#problem(path, `must be a text, not ${show(value)}; put it into quotes`);
    return value;
  }

  #refuseOthers(value: Record<string, unknown>, known: readonly string[], path: Path): void {
    const other = Object.keys(value).find((key) => !known.includes(key));
    if (other !== undefined) throw this.#problem([...path, other], `is not known here; known are ${known.join(", ")}`);
  }
}

function show(value: unknown): string {
  return headOf(JSON.stringify(value) ?? String(value), 60);
}
