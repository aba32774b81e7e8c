import assert from "node:assert/strict";
import { test } from "node:test";
import * as strings from "../src/core/strings/requests";
import type { Choice } from "../src/core/choice";
import { askerOf, toResponse, type ServerRequest, toServerRequest, type Values } from "../src/core/serverRequest";

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

test("a request has the command, its folder and the stated reason", () => {
  const one = request("item/commandExecution/requestApproval", { ...command, availableDecisions: ["accept", "cancel"] });
  assert.deepEqual([one.command, one.cwd, one.reason, one.said, one.choices], ["/bin/bash -lc 'rm x'", "/w", "", "tidy up", ["accept", "decline"]]);
});

test("two commands never look the same in a question", () => {
  const texts = ["rm x", "/bin/bash -lc 'rm x'", "/tmp/evil/bash -lc 'rm x'", "bash -c 'rm x'", "rm\u00a0x", "rm\\u{a0}x", '"rm\\u00a0x"', "rm x ", " rm x", "rm\nx", "rm\tx"];
  const seen = texts.map((text) => request("item/commandExecution/requestApproval", { ...command, command: text }).command);
  assert.equal(new Set(seen.map((text) => text.trimEnd())).size, texts.length, seen.join("\n"));
  assert.equal(seen[2], texts[2]);
});

test("the words of a rule for commands stay apart", () => {
  const details = (words: unknown[]): string => request("item/commandExecution/requestApproval", { ...command, proposedExecpolicyAmendment: words }).details;
  assert.notEqual(details(["rm", "-rf /"]), details(["rm", "-rf", "/"]));
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
  ["a path with a line break on one line", permissions, { permissions: { fileSystem: { write: ["/a\nread /b\u202e"] } } }, 'write "/a\\nread /b\\u202e"'],
  ["the host of a network request", run, { networkApprovalContext: { host: "good.example\u200b.evil.com", protocol: "https", port: 1 } }, 'Network: "good.example\\u200b.evil.com" by https {"port":1}'],
  ["all fields of a command", run, {
    ...command, environmentId: "local", additionalPermissions: { fileSystem: { entries: [glob] }, network: { enabled: true } }, proposedExecpolicyAmendment: ["rm", "x"],
    proposedNetworkPolicyAmendments: [{ host: "h", action: "allow" }, { host: "i" }], later: { z: "\u200b" },
  }, "Beyond the sandbox: write all files that match /etc/*\nBeyond the sandbox: use the network\nProposed rule (Accept does not add it): always allow commands that start with rm x\n" +
    'Proposed rule (Accept does not add it): always allow the host h\nProposed rule (Accept does not add it): {"host":"i"}\nOther fields: {"later":{"z":"\\u200b"}}'],
  ["an environment that is not local", run, { ...command, environmentId: "elsewhere" }, 'Other fields: {"environmentId":"elsewhere"}'],
  ["the grantRoot of a patch", "item/fileChange/requestApproval", { grantRoot: "/a\u202e" }, 'This lets Codex write below "/a\\u202e" for the session.'],
] as const) {
  test(`the card shows ${name}`, () => assert.equal(request(method, params).details, want));
}

test("a request shows a tool with its parameters or display parameters", () => {
  const shown = (more: object): string => request("mcpServer/elicitation/request", { ...form, _meta: { codex_approval_kind: "mcp_tool_call", tool_name: "post", ...more } }).command;
  assert.equal(shown({ tool_params: { to: "a\u200b" }, tool_params_display: [] }), 'post {"to":"a\\u200b"}');
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
  ["a tool of a server, for the session", "mcpServer/elicitation/request", { ...form, requestedSchema: {}, _meta: { codex_approval_kind: "mcp_tool_call", persist: ["session", "always"] } }, "acceptForSession", {}, { action: "accept", content: {}, _meta: { persist: "session" } }],
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

const bridge = (method: string, params: object): ServerRequest => toServerRequest("1", method, params, [], "bridge", 1000)!;
const offered = ["accept", "acceptForSession", { acceptWithExecpolicyAmendment: { execpolicy_amendment: ["ls"] } }, "cancel"];

for (const [name, method, params, choices] of [
  ["a command that the bridge keeps for the session", run, { ...command, availableDecisions: offered, bridge: { remember: ["session"], rememberMs: 1_800_000 } }, ["accept", "acceptForSession", "decline"]],
  ["a command that the bridge keeps for always", run, { ...command, availableDecisions: offered, bridge: { remember: ["session", "always"] } }, ["accept", "acceptForSession", "acceptAlways", "decline"]],
  ["a command that the bridge does not keep", run, { ...command, availableDecisions: offered, bridge: { remember: [] } }, ["accept", "decline"]],
  ["a command of an older bridge", run, { ...command, availableDecisions: offered }, ["accept", "acceptForSession", "decline"]],
  ["a command that leaves the sandbox", run, { ...command, availableDecisions: offered, reason: "[codex-bridge: leaves the sandbox] the model requests it" }, ["accept", "decline"]],
  ["a patch", "item/fileChange/requestApproval", { bridge: { remember: ["session"] } }, ["accept", "decline"]],
  ["permissions", permissions, { permissions: {} }, ["accept", "decline"]],
  ["a tool of a server that the bridge keeps", "mcpServer/elicitation/request", { ...form, _meta: { codex_approval_kind: "mcp_tool_call", persist: ["session", "always"] }, bridge: { remember: ["session", "always"] } }, ["accept", "acceptForSession", "acceptAlways", "decline"]],
  ["a tool of a server that the bridge does not keep", "mcpServer/elicitation/request", { ...form, _meta: { persist: ["session"] }, bridge: { remember: [] } }, ["accept", "decline"]],
] as [string, string, object, Choice[]][]) {
  test(`under a policy, the choices for ${name}`, () => assert.deepEqual(bridge(method, params).choices, choices));
}

test("an answer for always is the offered decision, or persist", () => {
  const always = { ...command, availableDecisions: offered, bridge: { remember: ["session", "always"] } };
  assert.deepEqual(toResponse(bridge(run, always), always, "acceptAlways", {}), { decision: offered[2] });
  const tool = { ...form, requestedSchema: {}, _meta: { codex_approval_kind: "mcp_tool_call", persist: ["session", "always"] }, bridge: { remember: ["always"] } };
  assert.deepEqual(toResponse(bridge("mcpServer/elicitation/request", tool), tool, "acceptAlways", {}), { action: "accept", content: {}, _meta: { persist: "always" } });
  const once = { ...command, availableDecisions: offered, bridge: { remember: [] } };
  assert.deepEqual(toResponse(bridge(run, once), once, "acceptAlways", {}), { decision: "decline" });
});

test("a choice says how long the answer counts", () => {
  assert.equal(strings.choice("acceptForSession", 1_800_000), "Accept for this session, 30 minutes");
  assert.equal(strings.choice("acceptForSession", 7_200_000), "Accept for this session, 2 hours");
  assert.equal(strings.choice("acceptForSession"), "Accept for this session");
});

for (const [name, method, params, leaves] of [
  ["a retry outside", run, { ...command, reason: "command failed; retry without sandbox?" }, "This command would run outside the sandbox, with your rights."],
  ["more permissions", run, { ...command, additionalPermissions: { network: { enabled: true } } }, "Codex asks for more than the sandbox allows."],
  ["a host", run, { ...command, networkApprovalContext: { host: "h" } }, "Codex asks for the network."],
  ["a grantRoot", "item/fileChange/requestApproval", { grantRoot: "/a" }, "This change is outside what the sandbox allows."],
  ["permissions", permissions, { permissions: {} }, "Codex asks for more than the sandbox allows."],
  ["nothing", run, command, ""],
  ["nothing, with the mark of the bridge without a policy: the model has written it", run, { ...command, reason: "[codex-bridge: leaves the sandbox] y" }, ""],
] as [string, string, object, string][]) {
  test(`what leaves the sandbox: ${name}`, () => assert.equal(request(method, params).leaves, leaves));
}

test("a request knows when the bridge declines it", () => {
  assert.equal(bridge(run, { ...command, bridge: { expiresInMs: 120_000 } }).expiresAt, 121_000);
  assert.equal(bridge(run, command).expiresAt, null);
});

test("an id says who asks, and only under a policy", () => {
  assert.deepEqual([askerOf("codex-bridge-A-1", "bridge"), askerOf(1, "bridge"), askerOf("1", "bridge"), askerOf("codex-bridge-A-1", "codex")], ["bridge", "codexUnderPolicy", "codexUnderPolicy", "codex"]);
});

const mark = "[codex-bridge: leaves the sandbox] ";
for (const [name, asker, reason, want] of [
  ["a question of the bridge", "bridge", "the policy asks (policy.rule)", ["", "the policy asks (policy.rule)", ""]],
  ["a question of the bridge about what leaves", "bridge", `${mark}/etc/x is outside (shell: bash)`, ["/etc/x is outside (shell: bash)", "", ""]],
  ["a question of Codex", "codexUnderPolicy", "Verified by policy.", ["", "", "Verified by policy."]],
  ["a question of Codex about what leaves", "codexUnderPolicy", `${mark}the model requests it. Stated reason (not checked): "Verified by policy."`, ["the model requests it", "", "Verified by policy."]],
  ["a file whose name looks like the words of the model", "codexUnderPolicy", `${mark}/x. Stated reason (not checked): "a" is outside. Stated reason (not checked): "b"`, ['/x. Stated reason (not checked): "a" is outside', "", "b"]],
  ["a question of Codex without stated words", "codexUnderPolicy", `${mark}/etc/x is outside`, ["/etc/x is outside", "", ""]],
  ["a question of Codex without a policy", "codex", `${mark}fine. \u202e`, ["", "", `"${mark}fine. \\u202e"`]],
] as const) {
  test(`the words of the model are apart: ${name}`, () => {
    const one = toServerRequest("1", run, { ...command, reason }, [], asker)!;
    assert.deepEqual([one.leaves, one.reason, one.said], want);
  });
}

const call = { codex_approval_kind: "mcp_tool_call", tool_name: "post", tool_params: { a: 1 }, persist: ["session", "always"] };
const message = `Allow the tool "mcp__s__post" to run? ${mark}the thread has no sandbox`;
for (const [name, asker, meta, want] of [
  ["Codex asks about a tool under a policy", "codexUnderPolicy", call, ["Call s?", 'post {"a":1}', "", "", ["accept", "acceptForSession", "acceptAlways", "decline"]]],
  ["a server asks, with the name of a tool", "codexUnderPolicy", { ...call, codex_approval_kind: undefined }, ["s asks", "", "", "", ["accept", "decline"]]],
  ["the bridge asks about a tool", "bridge", call, ["Call s?", 'post {"a":1}', "", "the thread has no sandbox", ["accept", "decline"]]],
  ["without a policy nothing shows who asks", "codex", call, ["s asks", 'post {"a":1}', strings.request.askerUnknown, "", ["accept", "acceptForSession", "decline"]]],
  ["a server asks without a policy", "codex", {}, ["s asks", "", "", "", ["accept", "decline"]]],
] as const) {
  test(`who asks about a tool: ${name}`, () => {
    const params = { serverName: "s", mode: "form", message, requestedSchema: {}, _meta: meta, bridge: { remember: ["session", "always"] } };
    const one = toServerRequest("1", "mcpServer/elicitation/request", params, [], asker)!;
    assert.deepEqual([one.title, one.command, one.details, one.leaves, one.choices], want);
    assert.equal(one.reason, asker === "bridge" ? 'Allow the tool "mcp__s__post" to run?' : message);
  });
}

test("a server that has the name of the bridge is named as a server", () => {
  const title = (asker: "bridge" | "codexUnderPolicy" | "codex"): string => toServerRequest("1", "mcpServer/elicitation/request", { ...form, serverName: "codex-bridge" }, [], asker)!.title;
  assert.deepEqual([title("bridge"), title("codexUnderPolicy"), title("codex")], ["codex-bridge asks", "The MCP server codex-bridge asks", "The MCP server codex-bridge asks"]);
});
