/** Which files a configuration of git includes, without asking git: to run it where others have written is dangerous itself. */
import { closeSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { openRegularFileSync, readSyncUpTo } from "../../shared/regular-file.ts";

const maxBytes = 256 * 1024;
const maxFiles = 100;

/** Where git looks for a person's own. */
export function personalConfigurations(homeDirs: readonly string[]): string[] {
  const places = homeDirs.flatMap((home) => [join(home, ".gitconfig"), join(home, ".config/git/config")]);
  const named = [process.env["GIT_CONFIG_GLOBAL"], xdgConfiguration()].filter((path) => path !== undefined);
  return [...new Set([...places, ...named.filter((path) => isAbsolute(path))])];
}

function xdgConfiguration(): string | undefined {
  const directory = process.env["XDG_CONFIG_HOME"];
  return directory === undefined ? undefined : join(directory, "git/config");
}

/** What the file includes, and what that includes, whether it exists or not and whatever the condition is. */
export function includedFiles(configuration: string, homeDirs: readonly string[]): string[] {
  const found = new Set<string>();
  const waiting = [configuration];
  for (let file = waiting.pop(); file !== undefined && found.size < maxFiles; file = waiting.pop()) {
    for (const named of pathValues(textOf(file))) {
      for (const path of resolved(named, dirname(file), homeDirs)) {
        if (found.has(path)) continue;
        found.add(path);
        waiting.push(path);
      }
    }
  }
  return [...found];
}

/** A worktree's own configuration counts. */
export function hasWorktreeConfiguration(configuration: string): boolean {
  return /worktreeconfig/i.test(textOf(configuration));
}

/** Of every key `path`, in whatever section: too many rather than too few. */
function pathValues(text: string): string[] {
  const lines = text.matchAll(/(?:^|\])[^\S\n]*path[^\S\n]*=((?:\\\r?\n|[^\n])*)/gim);
  return Array.from(lines, (match) => valueOf(match[1] ?? "")).filter((value) => value !== "");
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", b: "\b", "\n": "" };

function valueOf(raw: string): string {
  const text = raw.replaceAll("\r\n", "\n").trim();
  let value = "";
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (character === "#" || character === ";")) return value.trimEnd();
    else if (character === "\\") {
      const escaped = text.charAt(++at);
      value += escapes[escaped] ?? escaped;
    } else value += character;
  }
  return value;
}

function resolved(named: string, directory: string, homeDirs: readonly string[]): string[] {
  if (named.includes("\0")) return [];
  if (named.startsWith("~/")) return homeDirs.map((home) => join(home, named.slice(2)));
  return [isAbsolute(named) ? named : join(directory, named)];
}

/** Whoever wrote it may have put a pipe there. */
export function textOf(path: string): string {
  try {
    const { descriptor } = openRegularFileSync(path, { followLink: true });
    try {
      return readSyncUpTo(descriptor, maxBytes).toString("utf8");
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return "";
  }
}
