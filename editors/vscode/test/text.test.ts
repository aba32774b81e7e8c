import assert from "node:assert/strict";
import { test } from "node:test";
import { codeBlock, relativePath, relativeTime, visible } from "../src/core/text";

test("relativeTime uses the largest unit", () => {
  const minute = 60_000;
  for (const [past, want] of [[0, "now"], [-5, "now"], [59 * 1000, "now"], [minute, "1 min"], [90 * minute, "1 h"], [25 * 60 * minute, "1 day"], [49 * 60 * minute, "2 days"]] as const) {
    assert.equal(relativeTime(1e12 - past, 1e12), want);
  }
});

test("codeBlock has a longer fence than its text", () => {
  assert.equal(codeBlock("a.md", "markdown", 1, 3, "````\nx\n````\n"), "a.md, lines 1 to 3:\n`````markdown\n````\nx\n````\n`````\n");
});

for (const [folder, path, want] of [
  ["/w", "/w/a/b", "a/b"],
  ["/", "/a", "a"],
  ["/w", "/w2/a", "/w2/a"],
  ["/w", "/etc/passwd", "/etc/passwd"],
  ["/w", "/w/../etc/passwd", "/w/../etc/passwd"],
  ["", "/w/a", "/w/a"],
  ["C:\\w", "C:\\w\\a", "a"],
] as const) {
  test(`relativePath: ${path} in ${folder}`, () => assert.equal(relativePath(folder, path), want));
}

for (const [text, want] of [
  ["ls -l\n\tx", "ls -l\n\tx"],
  ["ä € 😀 日本", "ä € 😀 日本"],
  ["a\u202eb", "a\\u{202e}b"],
  ["a\u200bb\u0000", "a\\u{200b}b\\u{0}"],
  ["a\u3164b\u034f", "a\\u{3164}b\\u{34f}"],
  ["\u001b[2K\rls", "\\u{1b}[2K\\u{d}ls"],
] as const) {
  test(`visible escapes invisible characters: ${JSON.stringify(text)}`, () => assert.equal(visible(text), want));
}
