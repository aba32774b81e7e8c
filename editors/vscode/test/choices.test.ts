// The pickers, and the information about a thread.
import assert from "node:assert/strict";
import { test } from "node:test";
import { choiceOf, type Model, optionsOf, toTurnParams, whyNot } from "../src/core/choices";
import { noInfo, percent, toPlan, toSettings, toUsage } from "../src/core/threadInfo";

const model = (name: string, more: Partial<Model> = {}): Model => ({
  model: name, displayName: name.toUpperCase(), description: "d", hidden: false, isDefault: false, defaultReasoningEffort: "low",
  supportedReasoningEfforts: [{ reasoningEffort: "low", description: "fast" }, { reasoningEffort: "high", description: "slow" }], ...more,
});

test("the options of a picker have the effective value, or the chosen one, selected", () => {
  const models = [model("a", { isDefault: true }), model("b"), model("secret", { hidden: true })];
  const selected = (setting: "model" | "effort" | "sandbox", info: object, chosen: object): string[] =>
    optionsOf(setting, models, { ...noInfo, ...info }, chosen).filter((one) => one.selected).map((one) => one.value);
  assert.deepEqual(optionsOf("model", models, noInfo, {}).map((one) => one.value), ["a", "b"]);
  assert.deepEqual(selected("model", {}, {}), ["a"]);
  assert.deepEqual(selected("model", { model: "b" }, {}), ["b"]);
  assert.deepEqual(selected("model", { model: "b" }, { model: "a" }), ["a"]);
  assert.deepEqual(selected("model", { model: "secret" }, {}), ["secret"]);
  assert.deepEqual(selected("effort", { model: "b" }, {}), ["low"]);
  assert.deepEqual(selected("effort", { model: "b", effort: "high" }, {}), ["high"]);
  assert.deepEqual(selected("sandbox", { sandbox: "read-only" }, {}), ["read-only"]);
});

test("chosen values become members of turn/start", () => {
  assert.deepEqual(toTurnParams({}), {});
  assert.deepEqual(toTurnParams({ model: "m", effort: "low", approvalPolicy: "never", sandbox: "workspace-write" }), {
    model: "m", effort: "low", approvalPolicy: "never", sandboxPolicy: { type: "workspaceWrite" },
  });
});

// The judgements as codex-bridge sends them.
const cut = (field: string, rule: string, reason: string, from: unknown, to: unknown): object => ({ mode: "enforce", verdict: "rewrite", changes: [{ field, rule, reason, origin: "user /c/config.toml:5", from, to }] });

test("a value that the policy would change or refuse has the reason, the rule and its place", () => {
  assert.equal(whyNot(cut("params.model", "policy.models", '"x" is not in policy.models [y]', "x", "y"), "model"), 'Not allowed: "x" is not in policy.models [y] (policy.models, user /c/config.toml:5)');
  assert.match(whyNot(cut("params.sandboxPolicy", "policy.sandbox", "more than workspace-write", {}, {}), "sandbox"), /policy\.sandbox/);
  assert.match(whyNot({ mode: "enforce", verdict: "deny", error: { data: { rule: "r", reason: "no", origin: "o" } } }, "effort"), /no \(r, o\)/);
  assert.match(whyNot(cut("params.model", "r", "x\u202e\u0000", 1, 2), "model"), /\\u202e\\u0000/, "a text of the bridge is shown visibly");
});

test("a granular approval policy is a choice, and each of its parts, too", () => {
  const raw = { granular: { sandbox_approval: true, rules: true, skill_approval: false, request_permissions: false, mcp_elicitations: false } };
  const info = { ...noInfo, ...toSettings({ approvalPolicy: raw }) };
  const [untrusted, onRequest, granular, never] = optionsOf("approvalPolicy", [], info, {});
  assert.deepEqual([untrusted, onRequest, granular, never].map((one) => [one?.label, one?.selected]), [["untrusted", false], ["on-request", false], ["granular", true], ["never", false]]);
  assert.equal(granular?.description, "Codex asks about commands outside the sandbox, commands that a rule of Codex names. It refuses without a question: scripts of skills, more permissions, questions of MCP servers.");
  assert.deepEqual(toTurnParams({ approvalPolicy: granular!.value }), { approvalPolicy: raw });
  assert.deepEqual(optionsOf("granular", [], info, {}).map((one) => one.selected), [true, true, false, false, false]);
  assert.deepEqual(optionsOf("granular", [], info, { approvalPolicy: "never" }), [], "another policy has no parts");
  assert.deepEqual(toTurnParams(choiceOf("granular", "rules", info, {})), { approvalPolicy: { granular: { ...raw.granular, rules: false } } });
  assert.deepEqual(toTurnParams(choiceOf("granular", "skill_approval", info, {})), { approvalPolicy: { granular: { ...raw.granular, skill_approval: true } } });
  assert.equal(optionsOf("approvalPolicy", [], noInfo, {})[2]?.description.includes("It refuses"), false, "a new one asks everything");
  assert.match(whyNot(cut("params.approvalPolicy", "policy.approval", "not in the list", raw, "untrusted"), "granular"), /^Not allowed: not in the list/);
});

test("a value that the policy keeps is allowed", () => {
  assert.equal(whyNot({ mode: "enforce", verdict: "pass", changes: [] }, "model"), "");
  assert.equal(whyNot(cut("params.effort", "policy.efforts", "other field", "x", "y"), "model"), "");
  assert.equal(whyNot(cut("params.approvalPolicy", "policy.gate", "the bridge asks", "untrusted", "on-request"), "approvalPolicy"), "", "the bridge asks in Codex's place");
  assert.equal(whyNot({ ...cut("params.model", "r", "x", 1, 2), mode: "audit" }, "model"), "", "audit changes nothing");
});

test("settings, plan and usage of a thread", () => {
  assert.deepEqual(toSettings({ model: "m", reasoningEffort: null, approvalPolicy: "untrusted", sandbox: { type: "workspaceWrite" } }), { model: "m", effort: "", approvalPolicy: "untrusted", sandbox: "workspace-write" });
  assert.deepEqual(toSettings({ model: "m", effort: "low", approvalPolicy: { granular: {} }, sandboxPolicy: { type: "readOnly" } }), { model: "m", effort: "low", approvalPolicy: "granular:", sandbox: "read-only" });
  assert.deepEqual(toPlan({ explanation: null, plan: [{ step: "one\u0007", status: "completed" }, { step: "two", status: "odd" }] }), { explanation: "", steps: [{ text: "one\\u0007", status: "completed" }, { text: "two", status: "pending" }] });
  const usage = toUsage({ total: { totalTokens: 900 }, last: { totalTokens: 250 }, modelContextWindow: 1000 });
  assert.deepEqual([usage.total, percent(usage)], [900, 25]);
  assert.equal(percent({ ...usage, window: 0 }), undefined);
  assert.equal(percent({ ...usage, context: 2000 }), 100);
});
