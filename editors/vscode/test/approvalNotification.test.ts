import assert from "node:assert/strict";
import { test } from "node:test";
import { type Ask, askOf } from "../src/core/serverRequest";
import { noticeOf } from "../src/core/approvalNotification";
import { visible } from "../src/core/text";
import type { Change } from "../src/core/protocol";

const command = (text: string, more: object = {}): Ask => askOf("1", "item/commandExecution/requestApproval", { threadId: "t", command: text, cwd: "/w", ...more }, [])!;
const add: Change = { path: "/w/a", kind: { type: "add" }, diff: "x\n" };

test("a command, its folder and its reason, to be answered there", () => {
  assert.deepEqual(noticeOf(command("ls", { reason: "to look" }), "/w"), {
    text: "Codex: Run this command? ls (in /w) — to look", choices: ["accept", "acceptForSession", "decline"],
  });
});

test("a command with a proposed rule names the rule", () => {
  assert.equal(noticeOf(command("ls", { proposedExecpolicyAmendment: ["ls"] }), "/w").text,
    "Codex: Run this command? ls (in /w) — Proposed rule (Accept does not add it): always allow what begins with ls");
});

for (const [name, ask] of [
  ["details that do not fit", command("ls", { additionalPermissions: { fileSystem: { write: ["/x".repeat(400)] } } })],
  ["longer than is shown", command(`echo ${"x".repeat(400)}; rm -rf ~`)],
  ["several lines", command("echo\nrm -rf ~")],
  ["a link in its text", command("echo '[Decline](command:codexBridge.accept)'")],
  ["a link in its reason", command("ls", { reason: "[why](command:codexBridge.accept)" })],
  ["a patch that is not known", askOf("1", "item/fileChange/requestApproval", { threadId: "t" }, [])!],
  ["a patch that asks for a root", askOf("1", "item/fileChange/requestApproval", { threadId: "t", grantRoot: "/" }, [add])!],
  ["permissions", askOf("1", "item/permissions/requestApproval", { threadId: "t", permissions: {} }, [])!],
  ["a question", askOf("1", "item/tool/requestUserInput", { threadId: "t", questions: [{ id: "q", header: "", question: "?", options: null }] }, [])!],
] as [string, Ask][]) {
  test(`only the chat answers: ${name}`, () => {
    const notice = noticeOf(ask, "/w");
    assert.deepEqual(notice.choices, []);
    assert.doesNotMatch(notice.text, /rm|command:/);
  });
}

test("a patch that moves a file names both places", () => {
  const ask = askOf("1", "item/fileChange/requestApproval", { threadId: "t" }, [{ path: "/w/a", kind: { type: "update", move_path: "/etc/\u202eb" }, diff: "" }])!;
  assert.equal(noticeOf(ask, "/w").text, "Codex: Change this file? a → /etc/\\u{202e}b");
});

test("a patch names its files by the folder, those elsewhere whole", () => {
  const ask = askOf("1", "item/fileChange/requestApproval", { threadId: "t" }, [add, { ...add, path: "/etc/passwd" }])!;
  assert.equal(noticeOf(ask, "/w").text, "Codex: Change these 2 files? a, /etc/passwd");
});

for (const [text, want] of [
  ["ls -l\n\tx", "ls -l\n\tx"],
  ["ä € 😀 日本", "ä € 😀 日本"],
  ["a\u202eb", "a\\u{202e}b"],
  ["a\u200bb\u0000", "a\\u{200b}b\\u{0}"],
  ["a\u3164b\u034f", "a\\u{3164}b\\u{34f}"],
  ["\u001b[2K\rls", "\\u{1b}[2K\\u{d}ls"],
] as const) {
  test(`visible: ${JSON.stringify(text)}`, () => assert.equal(visible(text), want));
}
