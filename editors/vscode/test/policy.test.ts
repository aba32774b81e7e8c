import assert from "node:assert/strict";
import { test } from "node:test";
import { errorCard, isErrorOfRequest, parseOrigin, toCard } from "../src/core/policy";
import { commandQuestion, decisionRow, describeExplanation, grantRow, statusRows, type Check } from "../src/core/status";
import type { Status } from "../src/core/protocol";

// As the bridge sends them (with Codex 0.169.0).
const hookDenial = {
  method: "hook/preToolUse", verdict: "deny",
  error: { method: "hook/preToolUse", rule: "policy.rule", reason: "The pipeline pushes: git push origin main", origin: "user /home/me/config.toml:6", hint: "change the rule, or run it yourself" },
};
const threadStart = {
  method: "thread/start", id: 1, verdict: "rewrite", changes: [
    { field: "params.sandbox", rule: "policy.sandbox", reason: "danger-full-access is more than workspace-write", origin: "user /home/me/config.toml:5", from: "danger-full-access", to: "workspace-write" },
    { field: "params.sandbox", rule: "policy.protected_paths", reason: "the bridge's profile protects policy files and protected paths", from: "workspace-write" },
    { field: "params.config.projects", rule: "policy.project_trust", reason: "r", to: { "/": {} } },
    { field: "params.approvalPolicy", rule: "policy.gate", reason: "Codex is set to on-request; codex-bridge asks before each command", from: "untrusted", to: "on-request" },
    { field: "params.config.x", rule: "policy.config_keys", reason: "not allowed", from: [1] },
  ],
};

test("a refusal of a command names what, why, the rule and its line", () => {
  assert.deepEqual(toCard({ ...hookDenial, what: "git push origin main" }), {
    card: "refused",
    decisions: [{
      what: "git push origin main", why: "The pipeline pushes: git push origin main", rule: "policy.rule", where: "user /home/me/config.toml:6", canOpen: true,
      explanation: ["It did not run.", "To change this: change the rule, or run it yourself."],
    }],
  });
  assert.equal(toCard(hookDenial)!.decisions[0]!.what, "a tool call", "an older bridge does not name the call");
  assert.equal(toCard(hookDenial, "ls")!.decisions[0]!.what, "ls");
});

test("a change is a card if it takes something away", () => {
  const card = toCard(threadStart)!;
  assert.equal(card.card, "changed");
  assert.deepEqual(card.decisions.map((one) => [one.what, one.rule, one.canOpen]), [
    ["sandbox: danger-full-access → workspace-write", "policy.sandbox", true],
    ["config.x: [1] → removed", "policy.config_keys", false],
  ]);
  assert.equal(card.decisions[1]!.where, "the default, which no file sets");
});

test("a thread that may do less than Codex's configuration says has a card, also if the client asked for nothing", () => {
  const change = { field: "params.sandbox", rule: "policy.sandbox", reason: "the permissions profile mine is more", to: "read-only" };
  const applied = { method: "thread/start", id: 1, verdict: "rewrite", changes: [change] };
  assert.equal(toCard(applied), undefined);
  const card = toCard({ ...applied, changes: [{ ...change, narrows: true }] });
  assert.deepEqual(card?.decisions.map((one) => [one.what, one.why]), [["sandbox: not set → read-only", "the permissions profile mine is more"]]);
});

test("a changed command is no command that did not run", () => {
  const changes = [{ field: "tool_input.command", rule: "policy.sandbox", reason: "your rule for Codex would let it leave the sandbox", origin: "user /c.toml:2", from: "make", to: "true; make" }];
  const [one] = toCard({ method: "hook/preToolUse", verdict: "rewrite", changes, what: "make" })!.decisions;
  assert.deepEqual([one!.what, one!.explanation], ["tool_input.command: make → true; make", ["make", "To change this, edit the rule. A change of the file applies to the next request."]]);
});

test("a mark on a request, an answer from memory and an unchanged message are no cards", () => {
  const mark = { field: "params.reason", rule: "policy.escalation", reason: "r", from: "x", to: "[codex-bridge: leaves the sandbox] r. x" };
  assert.equal(toCard({ method: "item/commandExecution/requestApproval", verdict: "rewrite", changes: [mark] }), undefined);
  assert.equal(toCard({ verdict: "accept", changes: [{ field: "result", rule: "approvals.remember", reason: "grant x", from: 1 }] }), undefined);
  assert.equal(toCard({ verdict: "pass" }), undefined);
});

test("an approval without an answer in time has its own card", () => {
  const card = toCard({ verdict: "deny", method: "item/commandExecution/requestApproval", error: { rule: "approvals.timeout", reason: "no answer came within 2m0s", hint: "ask again" } }, "make");
  assert.deepEqual([card!.card, card!.decisions[0]!.what, card!.decisions[0]!.canOpen], ["expired", "make", false]);
});

test("the error of a refused request is a card, other errors are not", () => {
  const error = Object.assign(new Error("x"), { code: -32010, data: { method: "turn/start", field: "params.model", rule: "policy.models", reason: "gpt-1 is not allowed", origin: "managed /etc/codex-bridge/config.toml:9" } });
  assert.equal(errorCard(error)!.decisions[0]!.what, "turn/start: model");
  assert.equal(errorCard(Object.assign(new Error("x"), { code: -32603 })), undefined);
  assert.equal(errorCard(new Error("x")), undefined);
});

test("texts of a card can't hide or reorder characters", () => {
  const card = toCard({ verdict: "deny", what: "rm \u202e x", error: { rule: "r\u200b", reason: "a\u2028b", origin: "user /a\u202e:1", hint: "\u200b" } })!;
  assert.doesNotMatch(JSON.stringify(card), /[\u200b\u202e\u2028]/);
});

test("parseOrigin finds the file and the line", () => {
  assert.deepEqual(parseOrigin("user /home/me/my config.toml:6"), { file: "/home/me/my config.toml", line: 6 });
  assert.deepEqual(parseOrigin("/a.toml:3"), { file: "/a.toml", line: 3 });
  assert.deepEqual(parseOrigin("default; the policy is enabled by user /a.toml:3"), { file: "/a.toml", line: 3 });
  assert.deepEqual(parseOrigin("user C:\\p\\a.toml:3"), { file: "C:\\p\\a.toml", line: 3 });
  for (const none of ["", "default", "user config.toml:3", "/a.toml"]) assert.equal(parseOrigin(none), undefined, none);
});

const gate = { level: "on", short: "gate on", why: "W" } as const;
const status: Status = { version: "1.2", codex: { version: "0.169.0", pid: 1 }, policy: { mode: "enforce", refused: 2, rewritten: 3 }, hooks: { active: true } };
const checks: Check[] = [
  { name: "configuration", state: "ok", detail: "/etc/codex-bridge/config.toml, /home/me/config.toml" },
  { name: "policy", state: "ok", detail: "enforce: approval untrusted" },
  { name: "methods", state: "ok", detail: "all 282 names of codex 0.169.0 are judged" },
  { name: "protection", state: "broken", detail: "D", hint: "H" },
];

test("the status names files, decisions, grants, Codex and the hub", () => {
  const rows = statusRows(gate, { ...status, clients: 2 }, 1, checks);
  const value = (label: string): string[] => rows.filter((row) => row.label === label).map((row) => row.value);
  assert.deepEqual(value("Policy file"), ["/etc/codex-bridge/config.toml", "/home/me/config.toml"]);
  assert.deepEqual(value("Policy"), ["enforce: approval untrusted"]);
  assert.deepEqual(value("Decisions"), ["2 refused, 3 changed since the start"]);
  assert.deepEqual(value("Grants"), ["1 remembered approval"]);
  assert.deepEqual(value("Codex"), ["0.169.0; all 282 names of codex 0.169.0 are judged"]);
  assert.deepEqual(value("Shared Codex"), ["yes, with 2 clients"]);
  assert.deepEqual(rows.filter((row) => row.level).map((row) => [row.label, row.value, row.level]), [["protection", "D; fix: H", "error"]]);
  assert.deepEqual(rows.find((row) => row.label === "Policy file")!.open, { file: "/etc/codex-bridge/config.toml", line: 1 });
});

const configuration: Status["configuration"] = {
  files: ["/p/a.toml"], profile: "team", rules: [{ command: "git push **", decision: "deny", reason: "CI pushes.", origin: "user /p/a.toml:4" }], ruleCount: 1, remember: "session", rememberMs: 1_800_000,
};

test("the status has the bridge's own fields first, and works without a bridge", () => {
  const rows = statusRows(gate, { ...status, codex: { ...status.codex, tested: "0.169.0" }, configuration }, 0, checks);
  assert.deepEqual(rows.filter((row) => ["Profile", "Policy file", "Rules", "Rule", "Remember", "Grants", "Codex"].includes(row.label)).map((row) => row.value), [
    "team", "/p/a.toml", "1 rule", "deny git push ** — CI pushes. — user /p/a.toml:4", "approvals for this session, 30 minutes", "none", "0.169.0; tested with 0.169.0",
  ]);
  assert.deepEqual(rows.find((row) => row.label === "Rule")!.open, { file: "/p/a.toml", line: 4 });
  assert.deepEqual(statusRows(gate, undefined, undefined, undefined).map((row) => row.label), ["Gate"]);
});

test("a broken configuration is no file to open", () => {
  const rows = statusRows(gate, status, 0, [{ name: "configuration", state: "broken", detail: "/c.toml:3:1: policy.profile: unknown key; remove it" }]);
  assert.deepEqual(rows.filter((row) => row.label === "Policy file"), []);
  assert.ok(rows.some((row) => row.level === "error" && row.value.startsWith("/c.toml:3:1")));
});

test("rows of grants and decisions show invisible characters", () => {
  const grant = grantRow({ id: "g", tool: "Bash", what: "ls\u202e", workspace: "/w", expires: new Date(1_800_000).toISOString(), remember: "session" }, 0);
  assert.match(grant.label, /"ls\\u202e"/);
  assert.match(grant.detail, /^for this session, until .*\(30 min\) · \/w$/);
  const row = decisionRow({ seq: 1, time: "2026-03-01T09:30:00Z", method: "turn/start", verdict: "deny", rule: "policy.sandbox", origin: "user /c:3", reason: "too much\u200b" });
  assert.deepEqual([row.label, row.detail], ["Refused: too much\\u200b", "policy.sandbox — user /c:3 — turn/start"]);
});

test("a command is tried as an approval request, and the answer is one sentence", () => {
  assert.deepEqual(commandQuestion("git push", "/w", "t1"), {
    id: 1, method: "item/commandExecution/requestApproval", params: { threadId: "t1", turnId: "try", itemId: "try", startedAtMs: 1, command: "git push", cwd: "/w" },
  });
  const refused = describeExplanation("git push", { mode: "enforce", verdict: "deny", error: { data: { rule: "policy.rule", reason: "The pipeline pushes: git push", origin: "user /c.toml:3" } } });
  assert.deepEqual(refused, { text: "Refused by the policy: git push. The pipeline pushes: git push. Rule: policy.rule, user /c.toml:3.", open: { file: "/c.toml", line: 3 } });
  assert.match(describeExplanation("ls", { mode: "enforce", verdict: "pass" }).text, /^Not refused: ls/);
  assert.match(describeExplanation("ls", { mode: "enforce", verdict: "accept" }).text, /^Runs without a question/);
  const asks = { mode: "enforce", decision: "ask", reason: "It downloads.", rule: "policy.rule", origin: "user /c.toml:5" } as const;
  assert.deepEqual(describeExplanation("curl x", asks), { text: "You are asked about this command: curl x. It downloads. Rule: policy.rule, user /c.toml:5.", open: { file: "/c.toml", line: 5 } });
  assert.equal(describeExplanation("ls", { mode: "enforce", decision: "allow", reason: "no rule matches" }).text, "Runs without a question, inside the sandbox: ls. no rule matches.");
  assert.match(describeExplanation("ls", { mode: "off", verdict: "pass" }).text, /^No policy/);
});

test("a refused request of the client is shown by its error, what Codex does by its card", () => {
  for (const method of ["turn/start", "thread/list", "mcpServer/oauth/login"]) assert.equal(isErrorOfRequest({ method, id: 1, verdict: "deny" }), true, method);
  for (const method of ["hook/preToolUse", "item/commandExecution/requestApproval", "mcpServer/elicitation/request", "execCommandApproval", "answer"]) {
    assert.equal(isErrorOfRequest({ method, id: 1, verdict: "deny" }), false, method);
  }
  assert.equal(isErrorOfRequest({ method: "thread/start", id: 1, verdict: "rewrite" }), false);
});
