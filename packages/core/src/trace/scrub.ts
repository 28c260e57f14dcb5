/** Records fit to be handed on: without keys, media, and the name of whoever wrote them. */
import type { OmniMessage } from "@coxswain/protocol";
import { isRecord, type JsonRecord } from "../shared/json.ts";
import { hideKeyForms, hideMatches, mask, usableSecrets, writtenForms } from "../shared/secrets.ts";

export interface ScrubOptions {
  /** Texts that are known to be secret. */
  secrets: readonly string[];
  /** Absolute paths, all of them the user's home. */
  homes: readonly string[];
  userName: string;
  /** Images and inline data stay. Default: they are emptied. */
  keepMedia?: boolean | undefined;
  /** Opaque data of a provider stays, but for known secrets. Default: it goes. */
  keepFidelity?: boolean | undefined;
}

/** How many of each were taken out. */
export interface Scrubbed {
  secrets: number;
  headers: number;
  paths: number;
  media: number;
  fidelity: number;
}

/** Fields that tell what is what: they hold no text of anybody, and records refer to each other by them. */
const structural: ReadonlySet<string> = new Set([
  "type",
  "role",
  "event_type",
  "status",
  "stop_reason",
  "decision",
  "mode",
  "tool_call_id",
  "session_id",
  "mime_type",
  "name",
]);

const headerForms: readonly RegExp[] = [
  /\b((?:(?:proxy-)?authorization|x-api-key|api-key|x-goog-api-key|x-auth-token|x-amz-security-token)\\*["']?\s*[:=]\s*\\*["']?(?:(?:bearer|basic|token|digest)\s+)?)(?!\[redacted\]|\s|(?:bearer|basic|token|digest)\s)[^\s"'\\,}]+/gi,
  /\b((?:set-)?cookie\\*["']?:\s*\\*["']?)(?!\[redacted\]|\s)[^\r\n"'\\]+/gi,
  /\b([A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|_PWD|_PAT)\s*=\s*\\*["']?)(?!\[redacted\]|\$|\s)[^\s"'\\]{4,}/g,
  /\b((?:api_?key|access_?token|client_?secret|password)\\*["']?\s*[:=]\s*\\*["'])(?!\[redacted\]|\$)[^\s"'\\]{6,}/gi,
];
const dataUrl = /(data:[\w.+-]+\/[\w.+-]+(?:;[\w=.-]+)*;base64,)[A-Za-z0-9+/=]{16,}/g;
const maxDepth = 100;

export class Scrubber {
  readonly scrubbed: Scrubbed = { secrets: 0, headers: 0, paths: 0, media: 0, fidelity: 0 };
  readonly #options: ScrubOptions;
  readonly #secrets: readonly string[];
  readonly #paths: readonly [RegExp, string][];

  constructor(options: ScrubOptions) {
    this.#options = options;
    this.#secrets = usableSecrets(usableSecrets(options.secrets).flatMap(writtenForms));
    this.#paths = pathForms(options.homes, options.userName);
  }

  scrub(message: OmniMessage): OmniMessage {
    const { payload, ...envelope } = message as unknown as JsonRecord & { payload: JsonRecord };
    const clean = { ...(this.#value(envelope, 0) as JsonRecord), payload: this.#payload(payload) };
    return clean as unknown as OmniMessage;
  }

  #payload(payload: JsonRecord): JsonRecord {
    const clean: JsonRecord = {};
    for (const [key, value] of Object.entries(payload)) {
      if (key === "fidelity") this.#fidelity(clean, value);
      else if (isMedia(payload["type"], key) && this.#options.keepMedia !== true) clean[key] = this.#emptied(value);
      else clean[this.#text(key)] = structural.has(key) ? this.#known(value) : this.#value(value, 1);
    }
    return clean;
  }

  #fidelity(clean: JsonRecord, value: unknown): void {
    if (this.#options.keepFidelity === true) clean["fidelity"] = this.#known(value);
    else this.scrubbed.fidelity += 1;
  }

  #emptied(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((one) => this.#emptied(one));
    if (typeof value !== "string") return value;
    // An address says where an image is; it is no image.
    if (/^https?:/i.test(value)) return this.#text(value);
    this.scrubbed.media += 1;
    return /^data:[^,]{0,200},/.exec(value)?.[0] ?? "";
  }

  #value(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#text(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > maxDepth) return mask;
    if (Array.isArray(value)) return value.map((one) => this.#value(one, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [this.#text(key), this.#value(one, depth + 1)]),
    );
  }

  /** Only what is known to be secret. */
  #known(value: unknown, depth = 0): unknown {
    if (typeof value === "string") return this.#withoutSecrets(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > maxDepth) return mask;
    if (Array.isArray(value)) return value.map((one) => this.#known(one, depth + 1));
    return isRecord(value)
      ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, this.#known(one, depth + 1)]))
      : value;
  }

  #text(text: string): string {
    const { scrubbed } = this;
    let clean = this.#withoutSecrets(text);
    clean = hideKeyForms(clean, () => (scrubbed.secrets += 1));
    clean = hideMatches(clean, headerForms, () => (scrubbed.headers += 1));
    if (this.#options.keepMedia !== true) {
      clean = clean.replace(dataUrl, (_, kept: string) => {
        scrubbed.media += 1;
        return kept;
      });
    }
    for (const [form, replacement] of this.#paths) {
      clean = clean.replace(form, () => {
        scrubbed.paths += 1;
        return replacement;
      });
    }
    return clean;
  }

  #withoutSecrets(text: string): string {
    let clean = text;
    for (const secret of this.#secrets) {
      if (!clean.includes(secret)) continue;
      const pieces = clean.split(secret);
      this.scrubbed.secrets += pieces.length - 1;
      clean = pieces.join(mask);
    }
    return clean;
  }
}

function isMedia(type: unknown, key: string): boolean {
  switch (type) {
    case "image_url":
      return key === "image_url";
    case "inline_data":
    case "inline_thinking":
      return key === "data";
    case "tool_call_output":
      return key === "images";
    default:
      return false;
  }
}

/** A full stop behind it ends a sentence, unless it goes on. */
const pathEnd = "(?![\\w-]|\\.\\w)";
const someHome = "/home/user";

/** The home wherever it begins a path, and the name wherever it is a part of one. */
function pathForms(homes: readonly string[], userName: string): [RegExp, string][] {
  const roots = [...new Set(homes)].filter((home) => home.length > 1 && home !== someHome);
  const forms = roots
    .sort((a, b) => b.length - a.length)
    .map((home): [RegExp, string] => [new RegExp(`(?<![\\w.-])${escaped(home)}${pathEnd}`, "g"), someHome]);
  if (userName !== "" && userName !== "user") {
    forms.push([new RegExp(`(?<=[\\\\/])${escaped(userName)}${pathEnd}`, "g"), "user"]);
  }
  return forms;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
