import { describe, expect, it } from "vitest";
import { errorIn } from "../../src/llm/http/error-event.ts";

const told = { message: "no" };

describe("an event", () => {
  it.each<[string, unknown, string | undefined, unknown]>([
    ["an error field", { error: told }, undefined, { error: told }],
    ["an error that is a text", { error: "no" }, undefined, { error: "no" }],
    ["an error field in a list", [{ error: told }], undefined, { error: told }],
    ["an error field beside an answer", { id: "1", choices: ["words"], error: told }, undefined, { error: told }],
    ["an error field beside other kinds of answers", { candidates: [1], error: told }, undefined, { error: told }],
    ["the name of an error", { message: "no" }, "error", told],
    ["the name of an error and nothing else", null, "error", {}],
    ["the type error", { type: "error", message: "no" }, undefined, { type: "error", message: "no" }],
    ["the object error", { object: "error", message: "no", code: 400 }, undefined, { message: "no", code: 400 }],
    ["a type of error", { type: "overloaded_error", message: "no" }, undefined, { type: "overloaded_error", ...told }],
    ["a message alone", { message: "no", code: 1 }, undefined, { message: "no", code: 1 }],
    ["a detail alone", { detail: "no" }, undefined, { detail: "no" }],
    ["a response that failed", { type: "response.failed", response: { error: told } }, undefined, told],
  ])("with %s reports one", (_name, event, name, error) => {
    expect(errorIn(event, name)).toEqual(error);
  });

  it("says of a response that failed without a reason what there is to say", () => {
    const response = { error: null, incomplete_details: { reason: "why" } };
    expect(errorIn({ type: "response.failed", response }, undefined)).toMatchObject({ details: { reason: "why" } });
    expect(errorIn({ type: "response.failed" }, undefined)).toEqual({ message: "the answer failed" });
  });

  it.each([
    { choices: [], message: "m", error: null },
    { choices: [{ delta: { content: "error" } }], error: false },
    { object: "chat.completion.chunk", message: "m", error: "" },
    { candidates: [], message: "m" },
    { type: "response.output_text.delta", delta: "error", message: "m", error: null },
    { type: "content_block_delta", index: 0, detail: "d" },
    { message: { content: [] } },
    {},
    [],
    null,
    "error",
  ])("that says something else reports none: %j", (event) => {
    expect(errorIn(event, undefined)).toBeUndefined();
  });
});
