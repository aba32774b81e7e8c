import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clock, codeBlock, duration, relativePath, relativeTime, visible, visibleJson, visibleLine, visibleValue } from "../src/core/text";

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

interface Shown {
  text: string;
  exact: string;
  lines?: string[];
  line?: string;
}

const { cases } = JSON.parse(readFileSync(join(process.cwd(), "../../testdata/display/texts.json"), "utf8")) as { cases: Shown[] };
for (const { text, exact, lines, line } of cases) {
  test(`a text of others is shown as on the other surfaces: ${JSON.stringify(text)}`, () => {
    assert.equal(visibleValue(text), exact);
    assert.equal(visible(text), lines?.join("\n") ?? exact);
    if (line !== undefined) assert.equal(visibleLine(text), line);
    const json = visibleJson({ text }, 2);
    assert.deepEqual(JSON.parse(json), { text });
    assert.doesNotMatch(json, /[^\P{C}\n]|\p{Default_Ignorable_Code_Point}|[^\P{White_Space} \n]/u);
  });
}

test("times are in words", () => {
  assert.deepEqual([0, 1_000, 59_000, 60_000, 90 * 60_000, 3_600_000].map(duration), ["1 second", "1 second", "1 minute", "1 minute", "90 minutes", "1 hour"]);
  assert.deepEqual([-5, 1, 65_000, 120_000].map(clock), ["0:00", "0:01", "1:05", "2:00"]);
});
