/**
 * Puts calls together from their fragments. Servers differ: an index for each call, the same for all, or none; ids on
 * the first fragment, on every one, late, empty or missing; arguments in pieces, whole, or as an object.
 */
import { randomUUID } from "node:crypto";
import { isRecord, nonEmptyString } from "../../shared/json.ts";
import { CallIds } from "../call-ids.ts";
import { JsonExtent } from "./json-extent.ts";

export interface AssembledCall {
  /** Unique among the calls of one answer. */
  id: string;
  name: string;
  arguments: string;
}

interface OpenCall extends AssembledCall {
  /** As the server wrote it. */
  serverId: string | undefined;
  isStarted: boolean;
  /** Arguments that came before the name. */
  pending: string;
  extent: JsonExtent;
  /** Number of the chunk that touched it last. */
  chunk: number;
}

interface Fragment {
  index: number | undefined;
  id: string | undefined;
  name: string | undefined;
  arguments: string;
}

export interface CallListener {
  started(call: AssembledCall): void;
  grew(call: AssembledCall, piece: string): void;
}

export class ToolCallAssembler {
  readonly #listener: CallListener;
  readonly #calls: OpenCall[] = [];
  readonly #byIndex = new Map<number, OpenCall>();
  /** Newest call of each of the server's ids. */
  readonly #byId = new Map<string, OpenCall>();
  readonly #ids = new CallIds();
  #last: OpenCall | undefined;
  #chunk = 0;

  constructor(listener: CallListener) {
    this.#listener = listener;
  }

  get calls(): readonly AssembledCall[] {
    return this.#calls;
  }

  /** The `tool_calls` of one chunk. */
  accept(toolCalls: readonly unknown[]): void {
    this.#chunk += 1;
    for (const toolCall of toolCalls) {
      if (isRecord(toolCall)) this.#acceptFragment(readFragment(toolCall));
    }
  }

  #acceptFragment(fragment: Fragment): void {
    const known = this.#find(fragment);
    if (known !== undefined && isRepetition(known, fragment)) return;
    const call = known !== undefined && continues(known, fragment) ? known : this.#open(fragment);
    if (fragment.id !== undefined && call.serverId === undefined) this.#adopt(call, fragment.id);
    if (call.name === "" && fragment.name !== undefined) call.name = fragment.name;
    call.chunk = this.#chunk;
    this.#last = call;
    if (fragment.index !== undefined) this.#byIndex.set(fragment.index, call);
    this.#grow(call, fragment.arguments);
  }

  #find(fragment: Fragment): OpenCall | undefined {
    const { index, id } = fragment;
    const sameId = id === undefined ? undefined : this.#byId.get(id);
    if (index !== undefined) {
      const atIndex = this.#byIndex.get(index);
      if (atIndex === undefined) return fragment.name === undefined ? (sameId ?? this.#lastWithoutIndex()) : undefined;
      if (id === undefined || id === atIndex.serverId || atIndex.serverId === undefined) return atIndex;
      // Some servers make up an id for each fragment: without a name it goes on with the call all the same.
      return sameId ?? (fragment.name === undefined ? atIndex : undefined);
    }
    if (sameId !== undefined) return sameId;
    if (id === undefined) return this.#isNextInChunk(fragment) ? undefined : this.#last;
    return this.#last !== undefined && this.#last.serverId === undefined && fragment.name === undefined
      ? this.#last
      : undefined;
  }

  /** A continuation may carry an index that its head lacked. */
  #lastWithoutIndex(): OpenCall | undefined {
    return this.#byIndex.size === 0 ? this.#last : undefined;
  }

  /** Without index and id, two named entries of one chunk are two calls. */
  #isNextInChunk(fragment: Fragment): boolean {
    return fragment.name !== undefined && this.#last?.chunk === this.#chunk;
  }

  #open(fragment: Fragment): OpenCall {
    const call: OpenCall = {
      id: this.#ids.issue(fragment.id ?? `call_${randomUUID().slice(0, 8)}`),
      serverId: fragment.id,
      name: fragment.name ?? "",
      arguments: "",
      isStarted: false,
      pending: "",
      extent: new JsonExtent(),
      chunk: this.#chunk,
    };
    this.#calls.push(call);
    if (fragment.id !== undefined) this.#byId.set(fragment.id, call);
    return call;
  }

  #adopt(call: OpenCall, id: string): void {
    // Readers know a started call by the id that we made.
    if (!call.isStarted) call.id = this.#ids.issue(id);
    call.serverId = id;
    this.#byId.set(id, call);
  }

  #grow(call: OpenCall, piece: string): void {
    call.extent.feed(piece);
    if (!call.isStarted) {
      call.pending += piece;
      if (call.name === "") return;
      call.isStarted = true;
      this.#listener.started(call);
      piece = call.pending;
      call.pending = "";
    }
    if (piece === "") return;
    call.arguments += piece;
    this.#listener.grew(call, piece);
  }
}

/** Whether the fragment goes on with the call, rather than begin another in its place. */
function continues(call: OpenCall, fragment: Fragment): boolean {
  const { id, name } = fragment;
  if (id === undefined && name === undefined) return true;
  if (name === undefined || call.name === "") return true;
  // A head whose call is whole begins the next one: joined, the two would be no JSON.
  if (call.extent.isClosed && fragment.arguments !== "") return false;
  if (id !== undefined && id === call.serverId) return true;
  return name === call.name || !call.extent.isClosed;
}

/** Some gateways send a whole call again at the end. */
function isRepetition(call: OpenCall, fragment: Fragment): boolean {
  if (!call.extent.isClosed || fragment.arguments.trim() === "") return false;
  return fragment.id !== undefined && fragment.id === call.serverId && fragment.arguments === call.arguments;
}

function readFragment(toolCall: Record<string, unknown>): Fragment {
  const about = isRecord(toolCall["function"]) ? toolCall["function"] : toolCall;
  const index = Number(toolCall["index"] ?? Number.NaN);
  const id = toolCall["id"];
  return {
    index: Number.isInteger(index) ? index : undefined,
    id: typeof id === "number" ? String(id) : nonEmptyString(id),
    name: nonEmptyString(about["name"]),
    arguments: argumentsText(about["arguments"]),
  };
}

function argumentsText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? "" : JSON.stringify(value);
}
