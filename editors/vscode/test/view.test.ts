import assert from "node:assert/strict";
import { test } from "node:test";
import { Batch } from "../src/core/deltaBatch";
import { restore, use } from "../src/core/program";
import { relative } from "../src/core/text";
import { quoted } from "../src/core/text";
import { inside, problems, symbols } from "../src/core/toolOutput";
import { Transcript } from "../src/core/transcript";
import { html } from "../src/view/html";
import { decode } from "../src/view/messages";

test("what grows is put together, in order", () => {
  const told: string[] = [];
  const batch = new Batch((g) => told.push(`${g.id} ${g.text}`), 1e9);
  batch.add("a", "text", "1");
  batch.add("a", "text", "2");
  batch.add("b", "output", "3");
  batch.add("a", "text", "4");
  assert.deepEqual(told, []);
  batch.flush();
  assert.deepEqual(told, ["a 12", "b 3", "a 4"]);
});

test("the output of a command is kept up to a bound, and says so once", () => {
  let grown = "";
  const transcript = new Transcript({ entry: () => undefined, gone: () => undefined, grow: (_, __, text) => (grown += text) });
  transcript.item({ type: "commandExecution", id: "c", command: "yes", status: "inProgress" });
  for (let i = 0; i < 100; i++) transcript.delta("c", "output", "y".repeat(1000));
  const [entry] = transcript.entries();
  assert.ok(entry?.kind === "command" && entry.output === grown);
  assert.ok(grown.length < 66_000 && grown.endsWith("(more output is not shown)"));
  transcript.settle();
  assert.deepEqual(transcript.entries().map((e) => "state" in e && e.state), ["failed"]);
});

test("the official extension's setting, there and back", () => {
  const there = use("/b", "/own", undefined);
  assert.deepEqual(there, { value: "/b", keep: { value: "/own" } });
  assert.deepEqual(use("/b", "/b", there.keep), there);
  assert.equal(restore("/b", "/b", there.keep), "/own");
  assert.equal(restore("/b", "/b", use("/b", undefined, undefined).keep), undefined);
  assert.equal(restore(undefined, "/gone/codex-bridge", undefined), undefined);
  assert.throws(() => restore("/b", "/other", there.keep), /\/other/);
  assert.throws(() => restore("/b", undefined, there.keep), /not set/);
});

test("a fence is longer than any in the text", () => {
  assert.equal(quoted("a.md", "markdown", 1, 3, "````\nx\n````\n"), "a.md, lines 1 to 3:\n`````markdown\n````\nx\n````\n`````\n");
});

test("problems, the worst first, and bounded", () => {
  const one = { path: "a", line: 0, column: 4, severity: 1, message: "w\nx", source: "tsc" };
  assert.equal(problems([one, { ...one, path: "b", severity: 0, source: "" }]), "b:1:5: error: w x\na:1:5: warning: w x [tsc]");
  assert.equal(problems(Array<typeof one>(205).fill(one)).split("\n").at(-1), "… and 5 more");
  assert.equal(problems([]), "The editor reports no problems.");
});

test("symbols, one in another", () => {
  const leaf = { name: "m", kind: "method", line: 2, children: [] };
  assert.equal(symbols([{ name: "C", kind: "class", line: 0, children: [leaf] }]), "class C (line 1)\n  method m (line 3)");
});

test("files of the folder, and no others", () => {
  assert.equal(inside("/w", "a/../b"), "/w/b");
  assert.equal(inside("/w", "..b"), "/w/..b");
  for (const name of ["../x", "/etc/passwd", "a/../../x", "..", "", 3, undefined]) assert.throws(() => inside("/w", name));
});

test("the page is believed only what it may say", () => {
  assert.deepEqual(decode({ type: "send", text: " a " }), { type: "send", text: "a" });
  assert.deepEqual(decode({ type: "answer", id: "1", choice: "accept", values: { a: "b", c: 1 } }), { type: "answer", id: "1", choice: "accept", values: { a: "b" } });
  for (const bad of [
    null, 3, {}, { type: "send", text: "  " }, { type: "send" }, { type: "run", command: "x" }, { type: "answer", id: "1", choice: "yes" },
    { type: "open", href: "command:workbench.action.quit" }, { type: "open", href: "file:///etc/passwd" }, { type: "diff" },
  ]) {
    assert.equal(decode(bad), undefined, JSON.stringify(bad));
  }
});

test("the page loads nothing but its own script and style", () => {
  const page = html({ csp: "https://own", nonce: "n0", script: "s.js", style: "s.css" });
  assert.match(page, /content="default-src 'none'; style-src https:\/\/own; script-src 'nonce-n0'; base-uri 'none'; form-action 'none'"/);
  assert.equal(page.match(/<script/g)?.length, 1);
  assert.doesNotMatch(page, / style=| on[a-z]+=/);
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
  test(`relative: ${path} in ${folder}`, () => assert.equal(relative(folder, path), want));
}
