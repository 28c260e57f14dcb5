import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import { extractSummary } from "@coxswain/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defaultCompactionPrompt, defaultSystemPrompt } from "../../src/config/default-prompts.ts";
import { readInstructions } from "../../src/config/instructions.ts";
import { fillPromptTemplate, type PromptValues } from "../../src/config/prompt-template.ts";
import { temporaryDirectory } from "./support.ts";

const values: PromptValues = {
  AGENTS_MD: "Be kind.",
  PLATFORM: "linux",
  DATE: "2026-01-31",
  CWD: "/w",
  MODEL_ID: "m",
  SESSION_ID: "s",
};

describe("a prompt template", () => {
  test("gets its values, all of them, wherever they stand", () => {
    const template = Object.keys(values)
      .map((key) => `{{${key}}}`)
      .join("|");
    expect(fillPromptTemplate(`${template}|{{CWD}}`, values)).toBe("Be kind.|linux|2026-01-31|/w|m|s|/w");
  });

  test("leaves other names as they are", () => {
    for (const text of ["{{OTHER}}", "{{constructor}}", "{{CWD", "{CWD}", "{{ CWD }}"]) {
      expect(fillPromptTemplate(text, values)).toBe(text);
    }
  });

  test("never reads a value as a template", () => {
    const piece = fc.constantFrom("$&", "$1", "$$", "$`", "{{", "}}", "CWD", "{{CWD}}", "{{AGENTS_MD}}", "x");
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1 }), (pieces) => {
        const text = pieces.join("");
        expect(fillPromptTemplate("<{{AGENTS_MD}}>{{CWD}}", { ...values, AGENTS_MD: text })).toBe(`<${text}>/w`);
      }),
    );
  });
});

describe("the default prompts", () => {
  test("use only names that are filled", () => {
    expect(fillPromptTemplate(defaultSystemPrompt, values)).not.toContain("{{");
    expect(fillPromptTemplate(defaultSystemPrompt, values)).toContain("Be kind.");
  });

  test("ask for a summary in the form that is looked for", () => {
    expect(extractSummary(defaultCompactionPrompt.replace("…", "all of it"))).toBe("all of it");
  });
});

describe("AGENTS.md", () => {
  function places(): { agentStateDir: string; workspaceDir: string } {
    return { agentStateDir: temporaryDirectory(), workspaceDir: temporaryDirectory() };
  }

  test("of the agent and of the Workspace are both given, and said whose they are", async () => {
    const both = places();
    expect(await readInstructions(both)).toEqual({ text: "", warnings: [] });
    fs.writeFileSync(join(both.agentStateDir, "AGENTS.md"), "Be kind.\n");
    fs.writeFileSync(join(both.workspaceDir, "AGENTS.md"), "Use tabs.\n");
    expect(await readInstructions(both)).toEqual({
      text: "# Instructions for this agent\n\nBe kind.\n\n# Instructions of this workspace (AGENTS.md)\n\nUse tabs.",
      warnings: [],
    });
  });

  test("is not followed out of the Workspace, neither by a link nor by a link to a directory", async () => {
    const both = places();
    const outside = temporaryDirectory();
    fs.writeFileSync(join(outside, "AGENTS.md"), "secret");
    const path = join(both.workspaceDir, "AGENTS.md");
    fs.symlinkSync(join(outside, "AGENTS.md"), path);
    const { text, warnings } = await readInstructions(both);
    expect(text).toBe("");
    expect(warnings).toEqual([
      `${path} is not read: it leads to ${join(outside, "AGENTS.md")}, outside of its directory`,
    ]);
    fs.rmSync(path);
    fs.symlinkSync(`${both.workspaceDir}x/AGENTS.md`, path);
    expect((await readInstructions(both)).warnings).toHaveLength(1);
  });

  test("may be a link within the Workspace", async () => {
    const both = places();
    fs.mkdirSync(join(both.workspaceDir, "docs"));
    fs.writeFileSync(join(both.workspaceDir, "docs", "agents.md"), "Here.");
    fs.symlinkSync(join("docs", "agents.md"), join(both.workspaceDir, "AGENTS.md"));
    expect((await readInstructions(both)).text).toContain("Here.");
  });

  test("that is a directory or a pipe is left out, with a warning", async () => {
    const both = places();
    fs.mkdirSync(join(both.agentStateDir, "AGENTS.md"));
    execFileSync("mkfifo", [join(both.workspaceDir, "AGENTS.md")]);
    const { text, warnings } = await readInstructions(both);
    expect(text).toBe("");
    expect(warnings.map((warning) => warning.replace(/^.* is not read/, ""))).toEqual([
      ": it is no regular file",
      ": it is no regular file",
    ]);
  });

  test("of any size is bounded, and a cut never leaves half a character", async () => {
    const both = places();
    fs.writeFileSync(join(both.workspaceDir, "AGENTS.md"), `a${"🥊".repeat(50_000)}`);
    const { text, warnings } = await readInstructions(both);
    expect(text.length).toBeLessThan(70_000);
    expect(text).not.toContain("\ufffd");
    expect(text).toContain("[the rest of this file is left out: it is too long]");
    expect(warnings).toEqual([expect.stringContaining("is longer than 65536 bytes")]);
  });
});
