import { expect, test } from "vitest";
import { sandboxLine } from "../src/sandbox-line.ts";
import { createPlace } from "./support.ts";

test.each([
  ["", undefined],
  ['sandbox = "off"', undefined],
  ['sandbox = "workspace"', "[sandbox] workspace: commands write only in the Workspace and /tmp"],
  ['sandbox = "strict"', "[sandbox] strict: commands write only in the Workspace and /tmp, and have no network"],
])("of a project with %j it is said that %j", async (settings, line) => {
  await using place = await createPlace();
  await place.write("home/default_project/project_config.toml", settings);
  expect(await sandboxLine({ home: place.home })).toBe(line);
});
