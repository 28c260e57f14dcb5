/**
 * Images and files as prompt parts. A part that a provider refuses would be refused again with every later request, so
 * what it cannot take goes as words that say so.
 */
import type {
  LanguageModelV3FilePart,
  LanguageModelV3Message,
  LanguageModelV3TextPart,
  LanguageModelV3ToolResultPart,
} from "@ai-sdk/provider";
import { shortened } from "../../shared/cut.ts";
import type { MediaSupport } from "../provider/profile.ts";

export type MediaPart = Pick<LanguageModelV3FilePart, "type" | "data" | "mediaType"> | LanguageModelV3TextPart;

const charactersPerLook = 65_536;
const usualTypes = /^(image\/(png|jpeg|gif|webp|\*)|application\/pdf)$/;
const readableTypes = /^text\/|^application\/(json|xml|yaml|toml|javascript|x-sh)$|\+(xml|json)$/;
const maxShownUrl = 200;

/** By the bytes that a file begins with, in base64: what somebody called it is often wrong, and refused then. */
const beginnings: readonly [string, string][] = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGOD", "image/gif"],
  ["JVBERi", "application/pdf"],
];

/** Stands for an image that the provider has refused once, and would refuse with every later request. */
const refusedImage = words("an image, left out since the provider refused a request because of it");

/** The prompt without images, in outputs too. Messages without any are the same objects. */
export function withoutImages(prompt: readonly LanguageModelV3Message[]): LanguageModelV3Message[] {
  return prompt.map((message) => {
    if (message.role === "user" && message.content.some(isImage)) {
      return { ...message, content: message.content.map((part) => (isImage(part) ? refusedImage : part)) };
    }
    if (message.role !== "tool") return message;
    return {
      ...message,
      content: message.content.map((part) => (part.type === "tool-result" ? outputAlone(part) : part)),
    };
  });
}

function isImage(part: { type: string; mediaType?: string }): boolean {
  return part.type === "file" && part.mediaType?.startsWith("image/") === true;
}

function outputAlone(part: LanguageModelV3ToolResultPart): LanguageModelV3ToolResultPart {
  if (part.output.type !== "content") return part;
  const texts = part.output.value.map((item) => (item.type === "text" ? item.text : refusedImage.text));
  return { ...part, output: { type: "text", value: texts.join("\n") } };
}

/** @param url `http(s)` or a data URL */
export function imagePart(url: string, support: MediaSupport): MediaPart {
  const data = readDataUrl(url);
  if (data !== undefined) return dataPart(data.base64, data.mediaType, support);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) return words("an image that cannot be read");
  if (!support.vision) return words("an image, which this model cannot see");
  const address = new URL(url);
  if (support.takesUrl(address)) return { type: "file", mediaType: "image/*", data: address };
  return words(`an image at ${shortened(address.href, maxShownUrl)}, which this model cannot fetch`);
}

export function dataPart(base64: string, givenType: string, support: MediaSupport): MediaPart {
  const data = padded(base64.replace(/\s+/g, ""));
  const given = givenType.toLowerCase().split(";")[0]?.trim() ?? "";
  const found = isWebp(data) ? "image/webp" : beginnings.find(([beginning]) => data.startsWith(beginning))?.[1];
  const mediaType = found ?? (given === "image/jpg" ? "image/jpeg" : given);
  const kind = mediaType.startsWith("image/") ? "an image" : `a file of type ${shortened(mediaType, 60) || "unknown"}`;
  if (!isBase64(data)) return words(`${kind} that cannot be read`);
  if (readableTypes.test(mediaType)) return { type: "text", text: Buffer.from(data, "base64").toString("utf8") };
  if (!usualTypes.test(mediaType) && support.more?.test(mediaType) !== true) {
    return words(`${kind === "an image" ? `an image of type ${mediaType}` : kind}, which this model cannot read`);
  }
  if (mediaType.startsWith("image/") && !support.vision) return words("an image, which this model cannot see");
  const bytes = Math.floor((data.length * 3) / 4);
  if (bytes > support.maxBytes)
    return words(`${kind} of ${bytes} bytes, of which this model takes ${support.maxBytes}`);
  return { type: "file", mediaType, data };
}

function words(text: string): LanguageModelV3TextPart {
  return { type: "text", text: `[${text}]`.toWellFormed() };
}

/** Looked at in pieces: in a process that has compiled many expressions a match over megabytes overflows the stack. */
function isBase64(data: string): boolean {
  const end = endOfDigits(data);
  if (end === 0 || data.length % 4 !== 0 || data.length - end > 2) return false;
  for (let start = 0; start < end; start += charactersPerLook) {
    if (!/^[A-Za-z0-9+/]+$/.test(data.slice(start, Math.min(end, start + charactersPerLook)))) return false;
  }
  return true;
}

/** Many leave the padding away, or write more of it than there is. */
function padded(data: string): string {
  const bare = data.slice(0, endOfDigits(data));
  return bare.length % 4 === 1 ? bare : bare.padEnd(Math.ceil(bare.length / 4) * 4, "=");
}

/** Where the padding begins. */
function endOfDigits(data: string): number {
  let end = data.length;
  while (data[end - 1] === "=") end -= 1;
  return end;
}

function isWebp(data: string): boolean {
  return data.startsWith("UklGR") && Buffer.from(data.slice(0, 16), "base64").toString("latin1", 8) === "WEBP";
}

function readDataUrl(url: string): { mediaType: string; base64: string } | undefined {
  const match = /^data:([^;,]*)((?:;[^;,]*)*),/i.exec(url);
  if (match === null) return undefined;
  const content = url.slice(match[0].length);
  const isEncoded = (match[2] ?? "").toLowerCase().split(";").includes("base64");
  return {
    mediaType: match[1] || "image/png",
    base64: isEncoded ? percentDecoded(content) : Buffer.from(percentDecoded(content)).toString("base64"),
  };
}

function percentDecoded(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
