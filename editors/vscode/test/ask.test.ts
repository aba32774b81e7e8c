import assert from "node:assert/strict";
import { test } from "node:test";
import { answerOf, type Ask, askOf, type Choice, type Values } from "../src/core/ask";

const ask = (method: string, params: unknown): Ask => {
  const one = askOf("number:1", method, params, []);
  assert.ok(one, method);
  return one;
};
const command = { threadId: "t", itemId: "i", command: "/bin/bash -lc 'rm x'", cwd: "/w", reason: "tidy up" };
const questions = {
  questions: [{ id: "q", header: "H", question: "Which?", isOther: true, isSecret: false, options: [{ label: "A", description: "a" }, { label: "B", description: "b" }] }],
};
const form = {
  serverName: "s", mode: "form", message: "Fill in", requestedSchema: {
    type: "object", required: ["name"],
    properties: { name: { type: "string", title: "Name" }, n: { type: "integer" }, ok: { type: "boolean" }, c: { type: "string", enum: ["x", "y"] } },
  },
};

test("a command with its folder and its reason", () => {
  const one = ask("item/commandExecution/requestApproval", { ...command, availableDecisions: ["accept", "cancel"] });
  assert.deepEqual([one.command, one.cwd, one.reason, one.choices], ["rm x", "/w", "tidy up", ["accept", "decline"]]);
});

for (const [name, method, params, choice, values, want] of [
  ["a command, yes", "item/commandExecution/requestApproval", command, "accept", {}, { decision: "accept" }],
  ["a command, for the session", "item/commandExecution/requestApproval", command, "acceptForSession", {}, { decision: "acceptForSession" }],
  ["a command, for a session that was not offered", "item/commandExecution/requestApproval", { ...command, availableDecisions: ["accept"] }, "acceptForSession", {}, { decision: "decline" }],
  ["a command, no", "item/commandExecution/requestApproval", command, "decline", {}, { decision: "decline" }],
  ["a command, nonsense", "item/commandExecution/requestApproval", command, "submit", {}, { decision: "decline" }],
  ["a patch, yes", "item/fileChange/requestApproval", { threadId: "t", itemId: "i" }, "accept", {}, { decision: "accept" }],
  ["permissions, yes", "item/permissions/requestApproval", { permissions: { network: { enabled: true } } }, "accept", {}, { permissions: { network: { enabled: true } }, scope: "turn" }],
  ["permissions, for the session", "item/permissions/requestApproval", { permissions: {} }, "acceptForSession", {}, { permissions: {}, scope: "session" }],
  ["permissions, no", "item/permissions/requestApproval", { permissions: { network: { enabled: true } } }, "decline", {}, { permissions: {}, scope: "turn" }],
  ["a question", "item/tool/requestUserInput", questions, "submit", { q: "B" }, { answers: { q: { answers: ["B"] } } }],
  ["a question that nobody answers", "item/tool/requestUserInput", questions, "decline", {}, { answers: { q: { answers: [] } } }],
  ["a form", "mcpServer/elicitation/request", form, "accept", { name: "N", n: "3", ok: "true", c: "y" }, { action: "accept", content: { name: "N", n: 3, ok: true, c: "y" }, _meta: null }],
  ["a form with gaps", "mcpServer/elicitation/request", form, "accept", { name: "N", n: "" }, { action: "accept", content: { name: "N", ok: false }, _meta: null }],
  ["a form, no", "mcpServer/elicitation/request", form, "decline", { name: "N" }, { action: "decline", content: null, _meta: null }],
  ["a tool of a server, for the session", "mcpServer/elicitation/request", { ...form, requestedSchema: {}, _meta: { persist: ["session", "always"] } }, "acceptForSession", {}, { action: "accept", content: {}, _meta: { persist: "session" } }],
  ["a tool of a server, for a session that was not offered", "mcpServer/elicitation/request", { ...form, requestedSchema: {} }, "acceptForSession", {}, { action: "decline", content: null, _meta: null }],
] as [string, string, unknown, Choice, Values, unknown][]) {
  test(`answer: ${name}`, () => assert.deepEqual(answerOf(ask(method, params), params, choice, values), want));
}

test("what is no question is none", () => {
  assert.equal(askOf("number:1", "currentTime/read", {}, []), undefined);
  assert.equal(askOf("number:1", "attestation/generate", undefined, []), undefined);
});

test("only web addresses are shown as such", () => {
  assert.equal(ask("mcpServer/elicitation/request", { serverName: "s", mode: "url", message: "", url: "https://x.y" }).url, "https://x.y");
  assert.equal(ask("mcpServer/elicitation/request", { serverName: "s", mode: "url", message: "", url: "command:quit" }).url, "");
});
