import assert from "node:assert/strict";
import { test } from "node:test";
import { toResponse, type ServerRequest, toServerRequest, type Choice, type Values } from "../src/core/serverRequest";

const request = (method: string, params: unknown): ServerRequest => {
  const one = toServerRequest("number:1", method, params, []);
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

test("a request has the command, its folder and its reason", () => {
  const one = request("item/commandExecution/requestApproval", { ...command, availableDecisions: ["accept", "cancel"] });
  assert.deepEqual([one.command, one.cwd, one.reason, one.choices], ["rm x", "/w", "tidy up", ["accept", "decline"]]);
});

const permissions = "item/permissions/requestApproval", run = "item/commandExecution/requestApproval";
const glob = { access: "write", path: { type: "glob_pattern", pattern: "/etc/*" } };

for (const [name, method, params, want] of [
  ["paths of lists and entries once", permissions, { permissions: { fileSystem: { read: ["/r"], write: ["/w"], entries: [{ access: "write", path: { type: "path", path: "/w" } }, glob] } } },
    "read /r\nwrite /w\nwrite all files that match /etc/*"],
  ["the whole file system", permissions, { permissions: { fileSystem: { entries: [{ access: "write", path: { type: "special", value: { kind: "root" } } }] } } },
    'write {"type":"special","value":{"kind":"root"}}'],
  ["unknown fields as JSON", permissions, { permissions: { fileSystem: { globScanMaxDepth: 9, entries: [{ ...glob, extra: 1 }, "x"] }, network: { enabled: true, hosts: ["h"] }, other: { y: 1 } } },
    'write all files that match /etc/* {"extra":1}\n"x"\n{"fileSystem":{"globScanMaxDepth":9}}\nuse the network\n{"network":{"hosts":["h"]}}\n{"other":{"y":1}}'],
  ["no permissions", permissions, { permissions: { network: { enabled: false } } }, "nothing"],
  ["a path with a line break on one line", permissions, { permissions: { fileSystem: { write: ["/a\nread /b\u202e"] } } }, "write /a\\u{a}read /b\\u{202e}"],
  ["the host of a network request", run, { networkApprovalContext: { host: "good.example\u200b.evil.com", protocol: "https", port: 1 } }, 'Network: good.example\\u{200b}.evil.com by https {"port":1}'],
  ["all fields of a command", run, {
    ...command, environmentId: "local", additionalPermissions: { fileSystem: { entries: [glob] }, network: { enabled: true } }, proposedExecpolicyAmendment: ["rm", "x"],
    proposedNetworkPolicyAmendments: [{ host: "h", action: "allow" }, { host: "i" }], later: { z: "\u200b" },
  }, "Beyond the sandbox: write all files that match /etc/*\nBeyond the sandbox: use the network\nProposed rule (Accept does not add it): always allow commands that start with rm x\n" +
    'Proposed rule (Accept does not add it): always allow the host h\nProposed rule (Accept does not add it): {"host":"i"}\nOther fields: {"later":{"z":"\\u{200b}"}}'],
  ["an environment that is not local", run, { ...command, environmentId: "elsewhere" }, 'Other fields: {"environmentId":"elsewhere"}'],
  ["the grantRoot of a patch", "item/fileChange/requestApproval", { grantRoot: "/a\u202e" }, "This lets Codex write below /a\\u{202e} for the session."],
] as const) {
  test(`the card shows ${name}`, () => assert.equal(request(method, params).details, want));
}

test("a request shows a tool with its parameters or display parameters", () => {
  const shown = (more: object): string => request("mcpServer/elicitation/request", { ...form, _meta: { tool_name: "post", ...more } }).command;
  assert.equal(shown({ tool_params: { to: "a\u200b" }, tool_params_display: [] }), 'post {"to":"a\\u{200b}"}');
  assert.equal(shown({ tool_params_display: [{ name: "to", value: "a" }] }), 'post [{"name":"to","value":"a"}]');
});

for (const [name, method, params, choice, values, want] of [
  ["a command, yes", "item/commandExecution/requestApproval", command, "accept", {}, { decision: "accept" }],
  ["a command, for the session", "item/commandExecution/requestApproval", command, "acceptForSession", {}, { decision: "acceptForSession" }],
  ["a command, for an acceptForSession that was not offered", "item/commandExecution/requestApproval", { ...command, availableDecisions: ["accept"] }, "acceptForSession", {}, { decision: "decline" }],
  ["a command, no", "item/commandExecution/requestApproval", command, "decline", {}, { decision: "decline" }],
  ["a command, invalid choice", "item/commandExecution/requestApproval", command, "submit", {}, { decision: "decline" }],
  ["a patch, yes", "item/fileChange/requestApproval", { threadId: "t", itemId: "i" }, "accept", {}, { decision: "accept" }],
  ["permissions, yes", "item/permissions/requestApproval", { permissions: { network: { enabled: true } } }, "accept", {}, { permissions: { network: { enabled: true } }, scope: "turn" }],
  ["permissions, for the session", "item/permissions/requestApproval", { permissions: {} }, "acceptForSession", {}, { permissions: {}, scope: "session" }],
  ["permissions, no", "item/permissions/requestApproval", { permissions: { network: { enabled: true } } }, "decline", {}, { permissions: {}, scope: "turn" }],
  ["a question", "item/tool/requestUserInput", questions, "submit", { q: "B" }, { answers: { q: { answers: ["B"] } } }],
  ["a question without an answer", "item/tool/requestUserInput", questions, "decline", {}, { answers: { q: { answers: [] } } }],
  ["a form", "mcpServer/elicitation/request", form, "accept", { name: "N", n: "3", ok: "true", c: "y" }, { action: "accept", content: { name: "N", n: 3, ok: true, c: "y" }, _meta: null }],
  ["a form with empty fields", "mcpServer/elicitation/request", form, "accept", { name: "N", n: "" }, { action: "accept", content: { name: "N", ok: false }, _meta: null }],
  ["a form, no", "mcpServer/elicitation/request", form, "decline", { name: "N" }, { action: "decline", content: null, _meta: null }],
  ["a tool of a server, for the session", "mcpServer/elicitation/request", { ...form, requestedSchema: {}, _meta: { persist: ["session", "always"] } }, "acceptForSession", {}, { action: "accept", content: {}, _meta: { persist: "session" } }],
  ["a tool of a server, for an acceptForSession that was not offered", "mcpServer/elicitation/request", { ...form, requestedSchema: {} }, "acceptForSession", {}, { action: "decline", content: null, _meta: null }],
] as [string, string, unknown, Choice, Values, unknown][]) {
  test(`response to ${name}`, () => assert.deepEqual(toResponse(request(method, params), params, choice, values), want));
}

test("other methods are not for the user", () => {
  assert.equal(toServerRequest("number:1", "currentTime/read", {}, []), undefined);
  assert.equal(toServerRequest("number:1", "attestation/generate", undefined, []), undefined);
});

test("a request shows only http and https URLs", () => {
  assert.equal(request("mcpServer/elicitation/request", { serverName: "s", mode: "url", message: "", url: "https://x.y" }).url, "https://x.y");
  assert.equal(request("mcpServer/elicitation/request", { serverName: "s", mode: "url", message: "", url: "command:quit" }).url, "");
});
