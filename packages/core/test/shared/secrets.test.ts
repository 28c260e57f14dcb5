import { expect, test } from "vitest";
import { usableSecrets } from "../../src/shared/secrets.ts";

test("secrets of at least 8 characters are looked for, each once, the longer before its part", () => {
  expect(usableSecrets(["1234567", "12345678", "1234567890", "12345678", ""])).toEqual(["1234567890", "12345678"]);
});
