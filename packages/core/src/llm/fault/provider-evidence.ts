/** What a fault says about its cause: a status, codes, the provider's own words. */
import { headOf, shortened } from "../../shared/cut.ts";
import { isRecord, isShallow, nonEmptyString, parseJson } from "../../shared/json.ts";
import { hideKeyForms } from "../../shared/secrets.ts";
import type { Fault, HideKeys, ProviderFault } from "./provider-fault.ts";

export interface Evidence {
  /** An HTTP status, from the response or from an error object that names one; 0 = none. */
  status: number;
  /** Codes and types, in lower case. */
  codes: string[];
  /** In the words of the provider or of the system; bounded, without key material. */
  text: string;
}

const maxTextLength = 500;
const maxDepth = 6;
/** Characters that are looked at to show fewer. */
const readLength = 4 * 1024;
/** Characters of a page in which its title is looked for. */
const markupLength = 16 * 1024;

/** Makes words fit to be shown: whole characters, no line breaks, no keys, not too many. */
export type Present = (text: string) => string;

export function presenter(hideKeys: HideKeys): Present {
  return (text) => {
    // Keys first: a cut could leave the beginning of one.
    const flat = hideKeyForms(hideKeys(headOf(text, readLength)).replace(/\s+/g, " ").trim());
    return shortened(flat, maxTextLength).toWellFormed();
  };
}

export function evidenceOf({ fault, hideKeys }: ProviderFault): Evidence {
  const evidence = rawEvidenceOf(fault);
  return {
    status: evidence.status,
    codes: evidence.codes.map((code) => hideKeys(code).toLowerCase()),
    text: presenter(hideKeys)(evidence.text),
  };
}

function rawEvidenceOf(fault: Fault): Evidence {
  switch (fault.kind) {
    case "http":
      return { ...fromObject(parseJson(fault.body) ?? fault.body), status: fault.status };
    case "redirect":
      return { status: fault.status, codes: [], text: fault.target };
    case "error_object":
      return fromObject(fault.error);
    case "exception":
      return fromException(fault.error);
    default:
      return { status: 0, codes: [], text: "" };
  }
}

function fromObject(value: unknown): Evidence {
  const evidence: Evidence = { status: 0, codes: [], text: "" };
  collect(value, evidence, 0);
  // Whatever it says is more than nothing.
  if (evidence.text === "" && isRecord(value) && isShallow(value)) evidence.text = JSON.stringify(value);
  return evidence;
}

const codeFields = ["code", "type", "status", "error_type", "reason", "error_code", "errorCode", "__type"];
const statusFields = ["code", "status", "status_code", "statusCode", "http_status", "error_code"];
const messageFields = ["message", "error_message", "detail", "msg", "error_msg", "status_msg", "title"];
const nestedFields = ["error", "metadata", "details", "errors", "response", "detail", "base_resp"];

/** Providers wrap their errors in one, two or three objects, or in an array. The outermost message wins. */
function collect(value: unknown, evidence: Evidence, depth: number): void {
  if (depth > maxDepth || value === null || value === undefined) return;
  if (typeof value === "string") {
    if (evidence.text === "") evidence.text = withoutMarkup(value);
    return;
  }
  if (Array.isArray(value)) {
    for (const item of value.slice(0, 8)) collect(item, evidence, depth + 1);
    return;
  }
  if (!isRecord(value)) return;
  for (const field of codeFields) {
    const code = value[field];
    if (typeof code === "string" && code !== "" && code !== "error") evidence.codes.push(code);
  }
  for (const field of statusFields) {
    const status = Number(value[field]);
    if (evidence.status === 0 && Number.isInteger(status) && status >= 400 && status < 600) evidence.status = status;
  }
  // "error" in front of "message": a gateway's own words are vaguer than those that it passes on.
  collect(value["error"], evidence, depth + 1);
  for (const field of messageFields) evidence.text ||= nonEmptyString(value[field]) ?? "";
  for (const field of nestedFields) if (field !== "error") collect(value[field], evidence, depth + 1);
}

function withoutMarkup(whole: string): string {
  const text = headOf(whole, markupLength);
  if (!/^\s*</.test(text)) return whole;
  const title = /<title[^<>]{0,200}>([^<]*)<\/title>/i.exec(text)?.[1]?.trim();
  return title || text.replace(/<[^<>]{0,500}>/g, " ");
}

function fromException(error: unknown): Evidence {
  const codes: string[] = [];
  const texts: string[] = [];
  let status = 0;
  const visit = (value: unknown, depth: number): void => {
    if (!isRecord(value) || depth > maxDepth) return;
    const { code, name, message } = value;
    if (typeof code === "string" && code !== "") codes.push(code);
    if (typeof name === "string" && name !== "Error" && name !== "TypeError") codes.push(name);
    if (typeof message === "string" && message !== "" && !texts.includes(message)) texts.push(message);
    const refusal = /proxy response \((\d{3})\)/i.exec(String(message));
    if (refusal !== null) status = Number(refusal[1]);
    visit(value["cause"], depth + 1);
    if (Array.isArray(value["errors"])) for (const inner of value["errors"].slice(0, 4)) visit(inner, depth + 1);
  };
  visit(error, 0);
  return { status, codes, text: texts.join(": ") };
}
