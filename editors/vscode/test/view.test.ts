import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { DeltaBatch } from "../src/core/deltaBatch";
import { restoreSetting, useBridgeSetting } from "../src/core/program";
import { formatProblems, formatSymbols, resolveInFolders } from "../src/core/toolOutput";
import { Transcript } from "../src/core/transcript";
import { html } from "../src/view/html";
import { parseMessage } from "../src/view/messages";

test("DeltaBatch merges deltas in order", () => {
  const received: string[] = [];
  const batch = new DeltaBatch((g) => received.push(`${g.id} ${g.text}`), 1e9);
  batch.add("a", "text", "1");
  batch.add("a", "text", "2");
  batch.add("b", "output", "3");
  batch.add("a", "text", "4");
  assert.deepEqual(received, []);
  batch.flush();
  assert.deepEqual(received, ["a 12", "b 3", "a 4"]);
});

test("the output of a command is truncated once", () => {
  let appended = "";
  const transcript = new Transcript({ entry: () => undefined, remove: () => undefined, append: (_, __, text) => (appended += text) });
  transcript.item({ type: "commandExecution", id: "c", command: "yes", status: "inProgress" });
  for (let i = 0; i < 100; i++) transcript.delta("c", "output", "y".repeat(1000));
  const [entry] = transcript.entries();
  assert.ok(entry?.kind === "command" && entry.output === appended);
  assert.ok(appended.length < 66_000 && appended.endsWith("(output truncated)"));
  transcript.failRunning();
  assert.deepEqual(transcript.entries().map((e) => "state" in e && e.state), ["failed"]);
});

test("the official extension's setting is set and restored", () => {
  const changed = useBridgeSetting("/b", "/own", undefined);
  assert.deepEqual(changed, { value: "/b", save: { value: "/own" } });
  assert.deepEqual(useBridgeSetting("/b", "/b", changed.save), changed);
  assert.equal(restoreSetting("/b", "/b", changed.save), "/own");
  assert.equal(restoreSetting("/b", "/b", useBridgeSetting("/b", undefined, undefined).save), undefined);
  assert.equal(restoreSetting(undefined, "/gone/codex-bridge", undefined), undefined);
  assert.throws(() => restoreSetting("/b", "/other", changed.save), /\/other/);
  assert.throws(() => restoreSetting("/b", undefined, changed.save), /not set/);
});

test("formatProblems sorts by severity and truncates", () => {
  const one = { path: "a", line: 0, column: 4, severity: 1, message: "w\nx", source: "tsc" };
  assert.equal(formatProblems([one, { ...one, path: "b", severity: 0, source: "" }]), "b:1:5: error: w x\na:1:5: warning: w x [tsc]");
  assert.equal(formatProblems(Array<typeof one>(205).fill(one)).split("\n").at(-1), "… and 5 more");
  assert.equal(formatProblems([]), "The editor reports no problems.");
});

test("formatSymbols indents children", () => {
  const leaf = { name: "m", kind: "method", line: 2, children: [] };
  assert.equal(formatSymbols([{ name: "C", kind: "class", line: 0, children: [leaf] }]), "class C (line 1)\n  method m (line 3)");
});

test("resolveInFolder rejects paths outside the folder", () => {
  assert.equal(resolveInFolders(["/w"], "a/../b"), "/w/b");
  assert.equal(resolveInFolders(["/w"], "..b"), "/w/..b");
  for (const name of ["../x", "/etc/passwd", "a/../../x", "..", "", 3, undefined]) assert.throws(() => resolveInFolders(["/w"], name));
});

test("parseMessage rejects invalid messages", () => {
  assert.deepEqual(parseMessage({ type: "send", text: " a " }), { type: "send", text: "a" });
  assert.deepEqual(parseMessage({ type: "draft", id: "1", text: " a " }), { type: "draft", id: "1", text: " a " });
  assert.deepEqual(parseMessage({ type: "answer", id: "1", choice: "accept", values: { a: "b", c: 1 } }), { type: "answer", id: "1", choice: "accept", values: { a: "b" } });
  for (const bad of [
    null, 3, {}, { type: "send" }, { type: "command", name: "quit" }, { type: "image", name: "x", data: "AAAA" }, { type: "choose", kind: "model", setting: "cwd", value: "/" },
    { type: "checkFiles", paths: Array(500).fill("a.ts:1") }, { type: "tab", action: "quit", id: "1" }, { type: "dropFiles", uris: [1] }, { type: "openFile", path: "a" }, { type: "run", command: "x" }, { type: "answer", id: "1", choice: "yes" },
    { type: "open", href: "command:workbench.action.quit" }, { type: "open", href: "file:///etc/passwd" }, { type: "diff" }, { type: "draft", id: "1" }, { type: "edit" },
    { type: "change", id: "c", index: 0, action: "undo", hunk: "1" }, { type: "change", id: "c", index: 0, action: "delete" },
  ]) {
    assert.equal(parseMessage(bad), undefined, JSON.stringify(bad));
  }
});

test("the webview loads only its own script and style", () => {
  const page = html({ csp: "https://own", nonce: "n0", script: "s.js", style: "s.css" });
  assert.match(page, /content="default-src 'none'; style-src https:\/\/own; script-src 'nonce-n0'; base-uri 'none'; form-action 'none'"/);
  assert.equal(page.match(/<script/g)?.length, 1);
  assert.doesNotMatch(page, / style=| on[a-z]+=/);
});

test("each step of the walkthrough has text, and the package has its pictures", () => {
  const { contributes } = JSON.parse(readFileSync("package.json", "utf8")) as { contributes: { walkthroughs: { steps: { id: string; media: { markdown: string } }[] }[] } };
  assert.match(readFileSync(".vscodeignore", "utf8"), /^!media\/\*\*$/m);
  const pictures = contributes.walkthroughs[0]!.steps.flatMap(({ media: { markdown } }) => {
    const found = [...readFileSync(markdown, "utf8").matchAll(/!\[([^\]]+)\]\(([^)]+)\)/g)];
    return found.map(([, alt, picture]) => [alt!.length > 20, readFileSync(join(dirname(markdown), picture!)).subarray(1, 4).toString()]);
  });
  assert.deepEqual(pictures, Array(5).fill([true, "PNG"]));
});
