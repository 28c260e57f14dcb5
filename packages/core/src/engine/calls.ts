/** The calls of one attempt, each under an id of its own: records of others may hold one twice, or give two the same id. */
import type { OmniMessage, ToolCallOutputPayload, ToolCallPayload } from "@coxswain/protocol";

type Call = OmniMessage<ToolCallPayload>;
type Output = OmniMessage<ToolCallOutputPayload>;

interface Namesakes {
  first: Call;
  /** What was called; only where there was more than one. */
  contents: Set<string> | undefined;
  /** Ids under which those are sent that have no output yet, in call order. */
  unanswered: string[];
}

export class Calls {
  /** As they are sent, in call order. */
  readonly list: Call[] = [];
  readonly #ids = new Set<string>();
  /** By the id that the records name. */
  readonly #named = new Map<string, Namesakes>();
  #unanswered = 0;

  get hasUnanswered(): boolean {
    return this.#unanswered > 0;
  }

  /** Whether it is one of them. */
  has(call: Call): boolean {
    const namesakes = this.#named.get(call.payload.tool_call_id);
    if (namesakes === undefined) return false;
    if (namesakes.contents !== undefined) return namesakes.contents.has(contentOf(call));
    return contentOf(namesakes.first) === contentOf(call);
  }

  /** @returns As it is sent; `undefined` when it is one of them already. */
  add(call: Call): Call | undefined {
    const { tool_call_id: id } = call.payload;
    const namesakes = this.#named.get(id);
    if (namesakes === undefined) {
      const sent = this.#sent(call, 1);
      this.#named.set(id, { first: call, contents: undefined, unanswered: [sent.payload.tool_call_id] });
      return sent;
    }
    if (this.has(call)) return undefined;
    namesakes.contents ??= new Set([contentOf(namesakes.first)]);
    namesakes.contents.add(contentOf(call));
    const sent = this.#sent(call, namesakes.contents.size);
    namesakes.unanswered.push(sent.payload.tool_call_id);
    return sent;
  }

  /** @returns The output of the first of its calls that has none, as it is sent; `undefined` when there is none. */
  answer(output: Output): Output | undefined {
    const id = this.#named.get(output.payload.tool_call_id)?.unanswered.shift();
    if (id === undefined) return undefined;
    this.#unanswered -= 1;
    return withCallId(output, id);
  }

  #sent(call: Call, number: number): Call {
    const { tool_call_id: named } = call.payload;
    let id = number === 1 ? named : `${named}~${number}`;
    for (let next = number + 1; this.#ids.has(id); next += 1) id = `${named}~${next}`;
    this.#ids.add(id);
    this.#unanswered += 1;
    const sent = withCallId(call, id);
    this.list.push(sent);
    return sent;
  }
}

function contentOf({ payload }: Call): string {
  return `${payload.name}\n${payload.arguments}`;
}

/** The call or output under this id, whatever its producer wrote. */
export function withCallId<Message extends Call | Output>(message: Message, id: string): Message {
  if (message.payload.tool_call_id === id) return message;
  return { ...message, payload: { ...message.payload, tool_call_id: id } };
}
