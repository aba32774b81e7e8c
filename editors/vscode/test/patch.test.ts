import assert from "node:assert/strict";
import { test } from "node:test";
import { apply, toDiffSides } from "../src/core/patch";

const file = "one\ntwo\nthree\nfour\nfive\n";

for (const { name, text = file, diff, want } of [
  { name: "a changed line", diff: "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", want: "one\n2\nthree\nfour\nfive\n" },
  { name: "two hunks", diff: "@@ -1,1 +1,2 @@\n one\n+1.5\n@@ -5 +6 @@\n-five\n+5\n", want: "one\n1.5\ntwo\nthree\nfour\n5\n" },
  { name: "a file with two more lines", text: `a\nb\n${file}`, diff: "@@ -2 +2 @@\n-two\n+2\n", want: "a\nb\none\n2\nthree\nfour\nfive\n" },
  { name: "only new lines, after line 2", diff: "@@ -2,0 +3 @@\n+2.5\n", want: "one\ntwo\n2.5\nthree\nfour\nfive\n" },
  { name: "into an empty file", text: "", diff: "@@ -0,0 +1 @@\n+new\n", want: "new\n" },
  { name: "no newline at the end", text: "one", diff: "@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+1\n\\ No newline at end of file\n", want: "1" },
  { name: "a newline that comes", text: "a\nb", diff: "@@ -1,2 +1,2 @@\n-a\n-b\n\\ No newline at end of file\n+A\n+b\n", want: "A\nb\n" },
  { name: "a newline that goes", text: "a\n", diff: "@@ -1 +1 @@\n-a\n+A\n\\ No newline at end of file\n", want: "A" },
  { name: "with the header of a file", diff: "--- a\n+++ b\n@@ -1 +1 @@\n-one\n+1\n", want: "1\ntwo\nthree\nfour\nfive\n" },
  { name: "a moved file, in Codex's format", diff: "@@ -1 +1 @@\n-one\n+1\n\nMoved to: x", want: "1\ntwo\nthree\nfour\nfive\n" },
  { name: "CRLF is kept", text: "one\r\ntwo\r\n", diff: "@@ -1 +1 @@\n-one\n+1\n", want: "1\r\ntwo\r\n" },
  { name: "missing lines", diff: "@@ -1 +1 @@\n-six\n+6\n", want: undefined },
  { name: "no diff", diff: "hello", want: undefined },
  { name: "an empty diff", diff: "", want: undefined },
]) {
  test(`apply: ${name}`, () => assert.equal(apply(text, diff), want));
}

test("a diff that does not apply is shown as text", () => {
  const s = toDiffSides({ path: "/w/a", kind: { type: "update", move_path: null }, diff: "@@ -1 +1 @@\n-six\n+6\n" }, file);
  assert.deepEqual(s, { path: "/w/a", moved: null, before: file, after: "@@ -1 +1 @@\n-six\n+6\n", doesNotApply: true });
});

test("both sides of a new and a deleted file", () => {
  assert.equal(toDiffSides({ path: "/w/a", kind: { type: "add" }, diff: "x\n" }, "").after, "x\n");
  const gone = toDiffSides({ path: "/w/a", kind: { type: "delete" }, diff: "x\n" }, "x\n");
  assert.deepEqual([gone.before, gone.after], ["x\n", ""]);
});
