import { describe, expect, test } from "vitest";
import { createWorld, run } from "./support.ts";

const keys =
  "OPENAI_API_KEY OPENAI_KEY OPENAI_ADMIN_KEY OPENAI_API_KEY_PROD AZURE_OPENAI_KEY CLAUDE_CODE_OAUTH_TOKEN HF_TOKEN AWS_BEARER_TOKEN_BEDROCK".split(
    " ",
  );

describe("environment of a command", () => {
  test("holds no key of a provider, none of ours, no secret and no forced colour", async () => {
    const { environment } = await createWorld({
      secrets: ["value-of-a-key"],
      hiddenVariables: ["MY_OWN"],
      variables: {
        PATH: process.env.PATH,
        ...Object.fromEntries(keys.map((name) => [name, "a"])),
        ANTHROPIC_AUTH_TOKEN: "b",
        COXSWAIN_HOME: "/home/x",
        RENAMED: "Bearer value-of-a-key",
        MY_OWN: "c",
        FORCE_COLOR: "3",
        CLICOLOR_FORCE: "1",
        KEPT: "yes",
      },
    });
    const { output } = await run(environment, "exec_command", { cmd: "env" });
    for (const name of [
      "OPENAI",
      "CLAUDE",
      "HF_TOKEN",
      "BEDROCK",
      "ANTHROPIC",
      "COXSWAIN_HOME",
      "RENAMED",
      "MY_OWN",
      "FORCE",
    ]) {
      expect(output).not.toContain(name);
    }
    for (const line of ["KEPT=yes", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "TERM=dumb"]) {
      expect(output).toContain(line);
    }
  });
});
