/**
 * How commands, directories of pipes and drafts of files say which process made them: whoever comes later knows whose
 * they were.
 */
import { randomUUID } from "node:crypto";
import { readlinkSync } from "node:fs";
import { startTime } from "./process-stat.ts";

const marker = /^(\d+\.\d+)\.[0-9a-f-]{36}$/;
const pipePrefix = "coxswain-pipe";
/** In such a name: the namespace of its owner, and his mark. */
const pipeDirectory = new RegExp(`^${pipePrefix}-(\\d+)-(\\d+\\.\\d+)-[^/]+$`);
const draftPrefix = ".coxswain-draft";
/** As in the name of such a directory. */
const draft = new RegExp(`^\\${draftPrefix}-(\\d+)-(\\d+\\.\\d+)-[0-9a-f-]{36}\\.tmp$`);
let ownMark: string | undefined;

/** `<pid>.<start time>` of this process: a later process with the same id has another start time. */
export function hostMark(): string {
  ownMark ??= `${process.pid}.${startTime(process.pid) ?? "0"}`;
  return ownMark;
}

/** What all processes of one command carry in their environment. */
export function newMarker(): string {
  return `${hostMark()}.${randomUUID()}`;
}

/** The mark in a command's marker; `undefined` when it is none of ours. */
export function hostOfMarker(text: string): string | undefined {
  return marker.exec(text)?.[1];
}

/** How the name of a directory begins in which a command's pipe is made: it says whose it is. */
export function pipeDirectoryPrefix(): string {
  return `${pipePrefix}-${ownNamespace()}-${hostMark()}-`;
}

/** The mark in the name of such a directory; `undefined` when it is none, or another namespace's. */
export function hostOfPipeDirectory(name: string): string | undefined {
  return hostIn(pipeDirectory.exec(name));
}

/** A new name for a file that is about to be given its own: it says whose it is. */
export function draftName(): string {
  return `${draftPrefix}-${ownNamespace()}-${hostMark()}-${randomUUID()}.tmp`;
}

/** The mark in such a name; `undefined` when it is none, or another namespace's. */
export function hostOfDraft(name: string): string | undefined {
  return hostIn(draft.exec(name));
}

/** Where processes cannot be looked at, nothing is anybody's. */
function hostIn(match: RegExpExecArray | null): string | undefined {
  if (match === null) return undefined;
  const [, namespace, mark] = match;
  return namespace === namespaceOf("self") ? mark : undefined;
}

/** @param mark As `hostMark` gives it. Who cannot be looked at is taken to live. */
export function isDead(mark: string): boolean {
  const [pid, start] = mark.split(".");
  try {
    return startTime(Number(pid)) !== start;
  } catch {
    return false;
  }
}

/** Process ids mean nothing across namespaces: a container's commands are no orphans of ours. */
export function sharesNamespace(pid: number): boolean {
  const namespace = namespaceOf(pid);
  return namespace !== undefined && namespace === namespaceOf("self");
}

function ownNamespace(): string {
  return namespaceOf("self") ?? "0";
}

/** Its number; `undefined` when it cannot be looked at. */
function namespaceOf(process: number | "self"): string | undefined {
  try {
    return /\d+/.exec(readlinkSync(`/proc/${process}/ns/pid`))?.[0];
  } catch {
    return undefined;
  }
}
