import assert from "node:assert/strict";
import { test } from "node:test";
import { type ServerRequest, toServerRequest } from "../src/core/serverRequest";
import { toNotification } from "../src/core/approvalNotification";
import type { Change } from "../src/core/protocol";

const command = (text: string, more: object = {}): ServerRequest => toServerRequest("1", "item/commandExecution/requestApproval", { threadId: "t", command: text, cwd: "/w", ...more }, [])!;
const add: Change = { path: "/w/a", kind: { type: "add" }, diff: "x\n" };

test("a notification shows a command, its folder and its reason", () => {
  assert.deepEqual(toNotification(command("ls", { reason: "to ”look“" }), "/w"), {
    text: "Codex: Run this command? ls (in /w) — Stated reason (not checked): “to 'look'”", choices: ["accept", "acceptForSession", "decline"],
  });
});

test("a notification shows a proposed rule", () => {
  assert.equal(toNotification(command("ls", { proposedExecpolicyAmendment: ["ls"] }), "/w").text,
    "Codex: Run this command? ls (in /w) — Proposed rule (Accept does not add it): always allow commands that start with ls");
});

for (const [name, request] of [
  ["long details", command("ls", { additionalPermissions: { fileSystem: { write: ["/x".repeat(400)] } } })],
  ["what leaves the sandbox", command("ls", { additionalPermissions: { network: { enabled: true } } })],
  ["a long command", command(`echo ${"x".repeat(400)}; rm -rf ~`)],
  ["several lines", command("echo\nrm -rf ~")],
  ["a command that names another folder", command("rm (in /x)")],
  ["a command that gives itself a reason", command("rm — Verified")],
  ["a link in the command", command("echo '[Decline](command:codexBridge.accept)'")],
  ["a link in the reason", command("ls", { reason: "[why](command:codexBridge.accept)" })],
  ["a patch without content", toServerRequest("1", "item/fileChange/requestApproval", { threadId: "t" }, [])!],
  ["a patch with a grantRoot", toServerRequest("1", "item/fileChange/requestApproval", { threadId: "t", grantRoot: "/" }, [add])!],
  ["permissions", toServerRequest("1", "item/permissions/requestApproval", { threadId: "t", permissions: {} }, [])!],
  ["a question", toServerRequest("1", "item/tool/requestUserInput", { threadId: "t", questions: [{ id: "q", header: "", question: "?", options: null }] }, [])!],
] as [string, ServerRequest][]) {
  test(`a notification has no buttons for ${name}`, () => {
    const notice = toNotification(request, "/w");
    assert.deepEqual(notice.choices, []);
    assert.doesNotMatch(notice.text, /rm|command:/);
  });
}

test("a notification shows both paths of a moved file", () => {
  const request = toServerRequest("1", "item/fileChange/requestApproval", { threadId: "t" }, [{ path: "/w/a", kind: { type: "update", move_path: "/etc/\u202eb" }, diff: "" }])!;
  assert.equal(toNotification(request, "/w").text, "Codex: Change this file? a → \"/etc/\\u202eb\"");
});

test("a name with an arrow or a comma is not two names", () => {
  const request = toServerRequest("1", "item/fileChange/requestApproval", { threadId: "t" }, [{ ...add, path: "/w/a → /w/b" }, { ...add, path: "/w/c, d" }])!;
  assert.equal(toNotification(request, "/w").text, 'Codex: Change these 2 files? "/w/a → /w/b", "/w/c, d"');
});

test("a notification shows paths relative to the folder, and other paths in full", () => {
  const request = toServerRequest("1", "item/fileChange/requestApproval", { threadId: "t" }, [add, { ...add, path: "/etc/passwd" }])!;
  assert.equal(toNotification(request, "/w").text, "Codex: Change these 2 files? a, /etc/passwd");
});
