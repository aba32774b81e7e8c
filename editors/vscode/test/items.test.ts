import assert from "node:assert/strict";
import { test } from "node:test";
import { stripShell, toEntry, countChanges } from "../src/core/items";

for (const [command, want] of [
  ["/bin/bash -lc 'echo hi'", "echo hi"],
  ["bash -lc ls", "ls"],
  ['/usr/bin/zsh -lc "echo hi"', "echo hi"],
  ["/bin/bash -lc 'it'\\''s'", "it's"],
  ["/bin/bash -lc 'a'\\''; rm x'b", "/bin/bash -lc 'a'\\''; rm x'b"],
  ["/bin/bash -lc $(rm)", "/bin/bash -lc $(rm)"],
  ["/bin/bash -lc 'a' 'b'", "/bin/bash -lc 'a' 'b'"],
  ['/bin/bash -lc "echo $HOME"', '/bin/bash -lc "echo $HOME"'],
  ["git status", "git status"],
  ["/tmp/evil/bash -lc 'rm x'", "/tmp/evil/bash -lc 'rm x'"],
  ["./bash -lc ls", "./bash -lc ls"],
  ["/bin/../tmp/sh -c ls", "/bin/../tmp/sh -c ls"],
  ["ssh -c ls", "ssh -c ls"],
  ["bash -ic ls", "bash -ic ls"],
  ["bash -c ''", "bash -c ''"],
] as const) {
  test(`stripShell: ${command}`, () => assert.equal(stripShell(command), want));
}

test("countChanges counts added and removed lines", () => {
  const update = { path: "a", kind: { type: "update", move_path: null }, diff: "--- a\n+++ a\n@@ -1,2 +1,3 @@\n-a\n+b\n+c\n d\n" } as const;
  assert.deepEqual(countChanges(update), { path: "a", kind: "update", added: 2, removed: 1 });
  assert.deepEqual(countChanges({ path: "a", kind: { type: "add" }, diff: "x\ny\n" }), { path: "a", kind: "add", added: 2, removed: 0 });
  assert.deepEqual(countChanges({ path: "a", kind: { type: "delete" }, diff: "" }), { path: "a", kind: "delete", added: 0, removed: 0 });
});

test("unknown items have no entry", () => {
  assert.equal(toEntry({ type: "hookPrompt", id: "1" }), undefined);
  assert.equal(toEntry({ type: "somethingNew", id: "1" }), undefined);
});

test("a user message names its attachments", () => {
  const entry = toEntry({ type: "userMessage", id: "1", content: [{ type: "text", text: "look" }, { type: "localImage", path: "/p.png" }] });
  assert.deepEqual(entry, { kind: "user", id: "1", text: "look", attachments: [{ label: "Image", text: "" }], pending: false });
});

test("a failed MCP tool call has its error as output", () => {
  const entry = toEntry({ type: "mcpToolCall", id: "1", server: "s", tool: "t", arguments: { a: 1 }, status: "failed", error: { message: "no" } });
  assert.deepEqual(entry, { kind: "tool", id: "1", name: "s: t", input: '{\n  "a": 1\n}', output: "no", state: "failed" });
});
