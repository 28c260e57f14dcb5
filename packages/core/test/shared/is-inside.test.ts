import { expect, test } from "vitest";
import { isInside } from "../../src/shared/is-inside.ts";

test.each([
  ["/a/b", "/a/b"],
  ["/a/b", "/a/b/c/d"],
  ["/a/b/", "/a/b"],
  ["/a/b", "/a/b/"],
  ["/a", "/a/..b"],
  ["/", "/"],
  ["/", "/a"],
])("of %s is %s a part", (directory, path) => {
  expect(isInside(directory, path)).toBe(true);
});

test.each([
  ["/a/b", "/a/bc"],
  ["/a/b", "/a"],
  ["/a/b", "/"],
  ["/a/b", "/c/a/b"],
])("of %s is %s no part", (directory, path) => {
  expect(isInside(directory, path)).toBe(false);
});
