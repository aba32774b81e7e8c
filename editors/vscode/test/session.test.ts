import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Session } from "../src/core/session";
import { type Answers, bridgeInitialize, threadResponse, Server, session } from "./fakeServer";
import { tempFolder } from "./tempFolder";

const codex = (answers: Answers = {}): Server => new Server(answers, "codex");
const bridge = (answers: Answers = {}): Server => new Server({ initialize: bridgeInitialize, ...answers }, "bridge");
const texts = (entries: { kind: string; text?: string }[]): string[] => entries.map((e) => `${e.kind} ${e.text ?? ""}`.trim());
const item = (type: string, id: string, more: object = {}): Record<string, unknown> => ({ threadId: "t1", turnId: "turn1", item: { type, id, ...more } });

test("plain codex gets tools with thread/start and no bridge capability", async () => {
  const server = codex();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  assert.deepEqual(Object.keys(server.sent("thread/start")[0]!), ["cwd", "approvalPolicy", "sandbox", "dynamicTools"]);
  assert.deepEqual(server.sent("initialize")[0]!["capabilities"], { experimentalApi: true });
  assert.equal(editor.lastGate?.short, "no gate");
  assert.equal(editor.conversation?.threadId, "t1");
});

test("a bridge gets registered tools and a session key", async () => {
  const server = bridge();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  assert.deepEqual(server.sent("initialize")[0]!["capabilities"], { experimentalApi: true, bridge: { version: 1, tools: true, elicitations: true } });
  assert.deepEqual(server.sent("thread/start")[0]!["bridge"], { sessionKey: "new-key" });
  assert.equal(server.sent("thread/start")[0]!["dynamicTools"], undefined);
  assert.equal(server.sent("bridge/tool/register").length, 1);
  assert.equal(editor.lastGate?.short, "gate on");
  assert.deepEqual(editor.conversation, { key: "new-key", threadId: "t1" });
});

test("a program that is not the bridge is an error", async () => {
  const { session: s, editor } = session([new Server({}, "bridge")]);
  await assert.rejects(s.send("hello"), /is not codex-bridge/);
  assert.equal(editor.lastGate?.level, "broken");
  assert.deepEqual(texts(s.entries()).map((t) => t.split(" ")[0]), ["notice"]);
});

test("a message that codex rejects is removed", async () => {
  const server = codex({ "turn/start": () => { throw new Error("too much to do"); } });
  const { session: s } = session([server]);
  await assert.rejects(s.send("hello"), /too much to do/);
  assert.deepEqual(texts(s.entries()), ["notice too much to do"]);
});

test("deltas are appended to one entry", async () => {
  const server = codex();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  const id = String(server.sent("turn/start")[0]!["clientUserMessageId"]);
  server.notify("item/started", item("userMessage", "u1", { clientId: id, content: [{ type: "text", text: "hello" }] }));
  server.notify("item/started", item("agentMessage", "m1", { text: "" }));
  server.notify("item/agentMessage/delta", { threadId: "t1", itemId: "m1", delta: "Good " });
  server.notify("item/agentMessage/delta", { threadId: "t1", itemId: "m1", delta: "day" });
  server.notify("item/agentMessage/delta", { threadId: "other-thread", itemId: "m1", delta: "!" });
  server.notify("turn/completed", { threadId: "t1", turn: { id: "turn1", items: [], status: "completed", error: null } });
  await editor.waitUntil(() => editor.events.includes("running false"));
  assert.deepEqual(texts(s.entries()), ["user hello", "assistant Good day"]);
  assert.deepEqual(editor.events.filter((line) => /^(append|remove)/.test(line)), ["remove sent-N-N", "append m1 Good ", "append m1 day"]);
});

test("a message steers a running turn and otherwise starts one", async () => {
  let late = false;
  const server = codex({
    "turn/steer": () => {
      if (late) throw new Error("no active turn to steer");
      return { turnId: "turn1" };
    },
  });
  const { session: s } = session([server]);
  await s.send("one");
  await s.send("two");
  late = true;
  await s.send("three");
  assert.equal(server.sent("turn/steer")[0]!["expectedTurnId"], "turn1");
  assert.deepEqual(server.received.map((m) => m.method).filter((m) => m?.startsWith("turn/")), ["turn/start", "turn/steer", "turn/steer", "turn/start"]);
});

test("a turn that completes before the response to turn/start is not running", async () => {
  const server = codex({
    "turn/start": (_, self) => {
      self.notify("turn/started", { threadId: "t1", turn: { id: "turn1" } });
      self.notify("turn/completed", { threadId: "t1", turn: { id: "turn1", items: [], status: "failed", error: { message: "no model" } } });
      return { turn: { id: "turn1" } };
    },
  });
  const { session: s } = session([server]);
  await s.send("hello");
  assert.equal(s.isRunning, false);
  assert.deepEqual(texts(s.entries()).at(-1), "notice no model");
});

test("an approval has its patch and gets one response with its id", async () => {
  const server = codex();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  server.notify("item/started", item("fileChange", "p1", { status: "inProgress", changes: [{ path: "/w/a", kind: { type: "add" }, diff: "x\ny\n" }] }));
  server.send({ id: 0, method: "item/fileChange/requestApproval", params: { threadId: "t1", turnId: "turn1", itemId: "p1" } });
  await editor.waitUntil(() => editor.pending.length === 1);
  server.send({ id: "0", method: "item/commandExecution/requestApproval", params: { threadId: "child", turnId: "x", itemId: "c", command: "ls" } });
  await editor.waitUntil(() => editor.pending.length === 2);
  const [patch, command] = editor.pending;
  assert.deepEqual(patch!.files, [{ path: "/w/a", kind: "add", added: 2, removed: 0 }]);
  assert.equal(s.answer(command!.id, "decline", {}), true);
  assert.equal(s.answer(patch!.id, "accept", {}), true);
  assert.equal(s.answer(patch!.id, "accept", {}), false);
  server.notify("thread/name/updated", { threadId: "t1", threadName: "seen" });
  await editor.waitUntil(() => editor.events.includes("title seen"));
  await s.stop(); // its request follows the responses
  assert.deepEqual(server.received.filter((m) => m.result !== undefined), [
    { jsonrpc: "2.0", id: "0", result: { decision: "decline" } },
    { jsonrpc: "2.0", id: 0, result: { decision: "accept" } },
  ]);
});

test("resolved requests and those of a completed turn are removed", async () => {
  const server = codex();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  const request = (id: number): void => server.send({ id, method: "item/commandExecution/requestApproval", params: { threadId: "t1", itemId: "c", command: `ls ${id}` } });
  request(1);
  request(2);
  await editor.waitUntil(() => editor.pending.length === 2);
  server.notify("serverRequest/resolved", { threadId: "t1", requestId: 1 });
  await editor.waitUntil(() => editor.pending.length === 1);
  assert.equal(editor.pending[0]!.command, "ls 2");
  assert.ok(!server.received.some((m) => m.id === 1 && m.result !== undefined), "a resolved request gets no response");
  server.notify("turn/completed", { threadId: "t1", turn: { id: "turn1", items: [], status: "interrupted", error: null } });
  await editor.waitUntil(() => editor.pending.length === 0);
  assert.equal(texts(s.entries()).at(-1), "notice Stopped.");
});

test("an unknown request gets an error", async () => {
  const server = codex();
  const { session: s } = session([server]);
  await s.send("hello");
  server.send({ id: 7, method: "attestation/generate", params: {} });
  server.send({ id: 8, method: "item/tool/call", params: { threadId: "t1", tool: "look", arguments: {} } });
  await s.send("again");
  await s.send("and again"); // the responses precede these
  assert.equal(server.received.find((m) => m.id === 7 && m.method === undefined)?.error?.code, -32601);
  assert.deepEqual(server.received.find((m) => m.id === 8 && m.method === undefined)?.result, { contentItems: [{ type: "inputText", text: "look was called" }], success: true });
});

test("after a crash, requests are removed and the next message resumes the thread", async () => {
  const first = codex();
  const second = codex({ "thread/resume": (p) => threadResponse(String(p["threadId"]), [{ id: "turn1", status: "completed", error: null, items: [{ type: "agentMessage", id: "m1", text: "as before" }] }]) });
  const { session: s, editor } = session([first, second]);
  await s.send("hello");
  first.send({ id: 1, method: "item/commandExecution/requestApproval", params: { threadId: "t1", itemId: "c", command: "ls" } });
  await editor.waitUntil(() => editor.pending.length === 1);
  const asked = editor.pending[0]!;
  first.crash("codex was stopped by SIGKILL");
  await editor.waitUntil(() => editor.lastGate?.level === "broken");
  assert.equal(editor.pending.length, 0);
  assert.equal(s.isRunning, false);
  assert.match(texts(s.entries()).at(-1)!, /SIGKILL/);
  const stale = asked.id;
  await s.send("still there?");
  second.send({ id: 1, method: "item/commandExecution/requestApproval", params: { threadId: "t1", itemId: "c", command: "rm" } });
  await editor.waitUntil(() => editor.pending.length === 1);
  assert.equal(s.answer(stale, "accept", {}), false, "a request of the previous app-server was answered");
  assert.equal(second.sent("thread/resume")[0]!["threadId"], "t1");
  assert.equal(second.sent("turn/start")[0]!["threadId"], "t1");
  assert.ok(texts(s.entries()).includes("assistant as before"));
  assert.ok(texts(s.entries()).includes("user still there?"));
});

test("a missing thread is replaced with a notice, unless the user chose it", async () => {
  const lost: Answers = { "thread/resume": () => { throw new Error("no rollout found for thread id t0"); } };
  const { session: s } = session([codex(lost)], { key: "k", threadId: "t0" });
  await s.send("hello");
  assert.match(texts(s.entries()).join("\n"), /This is a new thread/);
  const { session: chosen } = session([codex(lost)]);
  await assert.rejects(chosen.resume("t0"), /no rollout found/);
});

test("a notice shows effective settings that differ", async () => {
  const server = codex({ "thread/start": () => ({ ...threadResponse("t1"), approvalPolicy: "untrusted", sandbox: { type: "readOnly" } }) });
  const { session: s } = session([server]);
  await s.send("hello");
  assert.match(texts(s.entries()).join("\n"), /approval policy is “untrusted”[^]*sandbox is “read-only”/);
});

test("a new thread clears the conversation", async () => {
  const server = codex();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  await s.newThread();
  assert.deepEqual([s.entries(), s.isRunning, editor.conversation], [[], false, undefined]);
  await s.send("hello again");
  assert.equal(server.sent("thread/start").length, 2);
  assert.equal(server.sent("turn/interrupt").length, 1);
});

test("a thread that another process holds is retried for a limited time", async () => {
  let holds = 3;
  const busy = (): object => {
    if (holds-- > 0) throw Object.assign(new Error("held by process 7"), { code: -32015 });
    return threadResponse("t0");
  };
  const server = bridge({ "thread/start": busy });
  const { session: s } = session([server], { key: "k", threadId: "t0" });
  await s.continueConversation();
  assert.equal(server.sent("thread/start").length, 4);
  holds = Infinity;
  const { session: other } = session([bridge({ "thread/start": busy })], { key: "k", threadId: "t0" });
  await assert.rejects(other.continueConversation(), /process 7/);
});

const refusal = { method: "hook/preToolUse", verdict: "deny", error: { method: "hook/preToolUse", rule: "policy.rule", reason: "The pipeline pushes: git push", origin: "user /c.toml:6", hint: "run it yourself" } };

test("a refusal is a card in the chat", async () => {
  const server = bridge();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  server.notify("bridge/policy/applied", { ...refusal, threadId: "t1", itemId: "c1", what: "git push" });
  await editor.waitUntil(() => s.entries().some((entry) => entry.kind === "policy"));
  const card = s.entries().find((entry) => entry.kind === "policy");
  assert.ok(card?.kind === "policy" && card.card === "refused");
  assert.deepEqual([card.decisions[0]!.what, card.decisions[0]!.where], ["git push", "user /c.toml:6"]);
});

test("a refused request has one card and no second error", async () => {
  const data = { method: "turn/start", rule: "policy.models", reason: "gpt-1 is not allowed", origin: "user /c.toml:2" };
  for (const notified of [true, false]) {
    const server = bridge({
      "turn/start": (_, self) => {
        if (notified) self.notify("bridge/policy/applied", { method: "turn/start", id: 9, verdict: "deny", error: data });
        self.send({ id: self.received.at(-1)!.id!, error: { code: -32010, message: "refused", data } as never });
        return undefined;
      },
    });
    const { session: s } = session([server]);
    await assert.rejects(s.send("hello"), /refused/);
    assert.deepEqual(s.entries().map((entry) => entry.kind), ["policy"]);
  }
});

test("a change of the thread is a card, also of a resumed one", async () => {
  const changes = [{ field: "params.sandbox", rule: "policy.sandbox", reason: "too much", from: "danger-full-access", to: "read-only" }];
  const open = (_: unknown, self: Server): object => {
    self.notify("bridge/policy/applied", { method: "thread/start", id: 1, verdict: "rewrite", changes });
    return { ...threadResponse("t1", [{ id: "turn1", status: "completed", error: null, items: [{ type: "agentMessage", id: "m", text: "before" }] }]), sandbox: { type: "readOnly" } };
  };
  for (const conversation of [undefined, { key: "k", threadId: "t1" }]) {
    const { session: s } = session([bridge({ "thread/start": open })], conversation);
    await s.send("hello");
    assert.equal(s.entries().filter((entry) => entry.kind === "policy").length, 1);
    assert.doesNotMatch(texts(s.entries()).join("\n"), /effective sandbox/, "the card says it");
  }
});

test("an approval without an answer in time is visibly declined", async () => {
  const server = bridge();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  const params = { threadId: "t1", itemId: "call_1", command: "make all", bridge: { expiresInMs: 60_000, remember: [] } };
  server.send({ id: "q-1", method: "item/commandExecution/requestApproval", params });
  await editor.waitUntil(() => editor.pending.length === 1);
  const left = editor.pending[0]!.expiresAt! - Date.now();
  assert.ok(left > 50_000 && left <= 60_000, `${left} ms`);
  server.notify("serverRequest/resolved", { threadId: "t1", requestId: "q-1" });
  server.notify("bridge/policy/applied", { method: "item/commandExecution/requestApproval", id: "call_1", threadId: "t1", verdict: "deny", error: { rule: "approvals.timeout", reason: "no answer came within 1m0s" } });
  await editor.waitUntil(() => s.entries().some((entry) => entry.kind === "policy"));
  const card = s.entries().find((entry) => entry.kind === "policy");
  assert.ok(card?.kind === "policy" && card.card === "expired" && card.decisions[0]!.what === "make all");
  assert.equal(editor.pending.length, 0);
});

test("a request that only another client may answer gets no card and no response", async () => {
  const server = bridge();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  const params = { threadId: "t1", itemId: "call_1", command: "make all", bridge: { answeredBy: "codex-tui 1", remember: [] } };
  server.send({ id: "q-1", method: "item/commandExecution/requestApproval", params });
  await editor.waitUntil(() => texts(s.entries()).some((text) => text.includes("Waits for an answer in codex-tui 1") && text.includes("make all")));
  server.notify("serverRequest/resolved", { threadId: "t1", requestId: "q-1" });
  assert.equal(editor.pending.length, 0);
  await s.stop(); // its request follows the responses
  assert.ok(!server.received.some((m) => m.id === "q-1"));
});

test("under a policy a choice is offered only if the bridge keeps it", async () => {
  const server = bridge();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  server.notify("item/started", item("fileChange", "p1", { status: "inProgress", changes: [{ path: "/w/a", kind: { type: "add" }, diff: "x" }] }));
  server.send({ id: 1, method: "item/fileChange/requestApproval", params: { threadId: "t1", itemId: "p1" } });
  await editor.waitUntil(() => editor.pending.length === 1);
  assert.deepEqual(editor.pending[0]!.choices, ["accept", "decline"]);
});

test("an answer to a form with an invalid value is not sent", async () => {
  const server = codex();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  server.send({ id: 1, method: "mcpServer/elicitation/request", params: { threadId: "t1", serverName: "s", mode: "form", message: "", requestedSchema: { type: "object", properties: { n: { type: "integer" } } } } });
  await editor.waitUntil(() => editor.pending.length === 1);
  const { id } = editor.pending[0]!;
  assert.equal(s.answer(id, "accept", { n: "2.5" }), false);
  assert.equal(editor.pending.length, 1);
  assert.equal(s.answer(id, "accept", { n: "2" }), true);
});

test("a start that fails names the cause of the exit and offers the settings", async () => {
  const server = bridge({
    initialize: (_, self) => {
      self.crash("codex was not found. Set codexBridge.codexPath.");
      return undefined;
    },
  });
  const { session: s, editor } = session([server]);
  await assert.rejects(s.send("hello"), /codex was not found/);
  assert.deepEqual(s.entries().map((entry) => entry.kind === "notice" && [entry.text, entry.actions]), [["codex was not found. Set codexBridge.codexPath.", ["settings", "restart"]]]);
  assert.equal(editor.lastGate?.why, "codex was not found. Set codexBridge.codexPath.");
});

test("a request that a crash ends adds no second error", async () => {
  const server = codex({
    "turn/start": (_, self) => {
      self.crash("codex was stopped by SIGKILL");
      return undefined;
    },
  });
  const { session: s } = session([server]);
  await assert.rejects(s.send("hello"), /SIGKILL/);
  assert.equal(s.entries().filter((entry) => entry.kind === "notice").length, 1);
  assert.doesNotMatch(texts(s.entries()).join("\n"), /Pending response/);
});

test("after a crash in an answer, the partial answer and the reason stay", async () => {
  const first = codex();
  const turns = [{ id: "turn1", status: "interrupted", error: null, items: [{ type: "userMessage", id: "u1", content: [{ type: "text", text: "hello" }] }] }];
  const second = codex({ "thread/resume": () => threadResponse("t1", turns) });
  const { session: s, editor } = session([first, second]);
  await s.send("hello");
  first.notify("item/started", item("agentMessage", "m1", { text: "" }));
  first.notify("item/agentMessage/delta", { threadId: "t1", itemId: "m1", delta: "half an ans" });
  await editor.waitUntil(() => editor.events.includes("append m1 half an ans"));
  first.crash("codex was stopped by SIGKILL");
  await editor.waitUntil(() => editor.lastGate?.level === "broken");
  await s.send("go on");
  const shown = texts(s.entries());
  assert.deepEqual(shown.slice(0, 2), ["user hello", "assistant half an ans"]);
  assert.match(shown[2]!, /^notice codex was stopped by SIGKILL\. The answer above is incomplete/);
  assert.ok(!shown.includes("notice Stopped."), shown.join("\n"));
  assert.match(shown.at(-1)!, /^user go on/);
});

test("a thread that the chat leaves is unsubscribed", async () => {
  const server = codex({ "thread/unsubscribe": () => ({}) });
  const { session: s } = session([server]);
  await s.send("hello");
  await s.resume("t2");
  await s.newThread();
  assert.deepEqual(server.sent("thread/unsubscribe"), [{ threadId: "t1" }, { threadId: "t2" }]);
});

test("a request of the bridge needs a bridge that has it", async () => {
  const { session: plain } = session([codex()]);
  await assert.rejects(plain.askBridge("bridge/grant/list", {}), /needs codex-bridge/);
  const { session: old } = session([bridge()]);
  await assert.rejects(old.askBridge("bridge/policy/explain", {}), /no bridge\/policy\/explain/);
});

test("an exit right after the start has one notice", async () => {
  const server = bridge({
    "bridge/tool/register": (_, self) => {
      self.crash("codex-bridge exited with status 1");
      return undefined;
    },
  });
  const { session: s } = session([server]);
  await assert.rejects(s.send("hello"), /status 1/);
  assert.equal(s.entries().filter((entry) => entry.kind === "notice").length, 1);
});

test("the settings, the plan and the tokens of a thread are kept until the chat leaves it", async () => {
  const server = codex();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  assert.deepEqual([s.info.model, s.info.approvalPolicy, s.info.sandbox], ["m", "on-request", "workspace-write"]);
  server.notify("turn/plan/updated", { threadId: "t1", turnId: "turn1", explanation: null, plan: [{ step: "one", status: "completed" }] });
  server.notify("thread/tokenUsage/updated", { threadId: "t1", turnId: "turn1", tokenUsage: { total: { totalTokens: 9 }, last: { totalTokens: 5 }, modelContextWindow: 10 } });
  server.notify("thread/tokenUsage/updated", { threadId: "a-subagent", turnId: "x", tokenUsage: { total: { totalTokens: 1 }, last: { totalTokens: 1 }, modelContextWindow: 1 } });
  server.notify("thread/settings/updated", { threadId: "t1", threadSettings: { model: "n", effort: "low", approvalPolicy: "never", sandboxPolicy: { type: "readOnly" } } });
  await editor.waitUntil(() => s.info.model === "n");
  assert.deepEqual(s.info, { model: "n", effort: "low", approvalPolicy: "never", sandbox: "read-only", plan: { explanation: "", steps: [{ text: "one", status: "completed" }] }, usage: { total: 9, context: 5, window: 10 } });
  server.notify("turn/started", { threadId: "t1", turn: { id: "turn2" } });
  await editor.waitUntil(() => s.info.plan === null);
  await s.newThread();
  assert.equal(editor.lastInfo?.usage, null);
});

const settings = (more: object = {}): object => ({ model: "m", effort: null, approvalPolicy: "on-request", sandboxPolicy: { type: "workspaceWrite", writableRoots: [], networkAccess: false }, ...more });

test("settings that another client changed are told once, with the old and the new value, and those of this client are not", async () => {
  const server = codex();
  const { session: s, editor } = session([server]);
  const told = (): string[] => texts(s.entries()).filter((text) => text.includes("Another client"));
  const update = async (more: object): Promise<void> => {
    const before = s.info;
    server.notify("thread/settings/updated", { threadId: "t1", threadSettings: settings(more) });
    await editor.waitUntil(() => s.info !== before);
  };
  await s.send("hello", undefined, { effort: "high", sandboxPolicy: { type: "dangerFullAccess" } });
  await update({ effort: "high", sandboxPolicy: { type: "readOnly" } }); // the policy has replaced the sandbox
  assert.deepEqual(told(), []);
  server.notify("turn/completed", { threadId: "t1", turn: { id: "turn1", status: "completed" } });
  await editor.waitUntil(() => !s.isRunning);
  const network = { type: "workspaceWrite", writableRoots: ["/a"], networkAccess: true };
  await update({ effort: "high", model: "n", approvalPolicy: "never", sandboxPolicy: network });
  await update({ effort: "high", model: "n", approvalPolicy: "never", sandboxPolicy: network });
  const text = "notice Another client changed the settings of this thread: model m → n; approval policy on-request → never; sandbox read-only → workspace-write with network and /a";
  assert.deepEqual(told(), [text]);
  await update({ model: "n", approvalPolicy: "never", sandboxPolicy: network });
  assert.deepEqual(told(), [text, "notice Another client changed the settings of this thread: effort high → the default"]);
});

test("chosen values go with turn/start, and not with turn/steer", async () => {
  const server = codex();
  const { session: s } = session([server]);
  const input = [{ type: "text", text: "one", text_elements: [] }];
  assert.equal(await s.send("one", input, { model: "n" }), true);
  assert.equal(await s.send("two", input, { model: "n" }), false);
  assert.equal(server.sent("turn/start")[0]!["model"], "n");
  assert.ok(!("model" in server.sent("turn/steer")[0]!));
});

test("a review ends with the turn that its response names", async () => {
  const server = codex({ "review/start": () => ({ turn: { id: "review" }, reviewThreadId: "t1" }) });
  const { session: s, editor } = session([server]);
  await s.startTurn("review/start", { target: { type: "uncommittedChanges" } });
  await editor.waitUntil(() => s.isRunning);
  server.notify("turn/started", { threadId: "t1", turn: { id: "inner", rootTurnId: "review" } }); // as Codex 0.169.0 does
  server.notify("turn/completed", { threadId: "t1", turn: { id: "review", items: [], status: "completed", error: null } });
  await editor.waitUntil(() => editor.events.includes("completed"));
  assert.equal(s.isRunning, false);
});

test("a turn that can't start is a notice", async () => {
  const server = codex({ "thread/compact/start": () => { throw new Error("nothing to compact"); } });
  const { session: s } = session([server]);
  await assert.rejects(s.startTurn("thread/compact/start", {}), /nothing/);
  assert.deepEqual(texts(s.entries()), ["notice nothing to compact"]);
  assert.equal(s.isRunning, false);
});

test("a fork is a thread of its own, and is resumed as such", async () => {
  const server = codex({ "thread/fork": () => threadResponse("t2") });
  const { session: s, editor } = session([server], { key: "", threadId: "t1", isFork: true });
  await s.continueConversation();
  assert.equal(server.sent("thread/fork")[0]!["threadId"], "t1");
  assert.deepEqual(server.sent("thread/resume"), []);
  assert.deepEqual(editor.conversation, { key: "", threadId: "t2" });
});

test("a snapshot is taken before a turn, not before a steer, and the turn ends with a card of its changes", async () => {
  const server = codex();
  const calls: string[] = [];
  const { session: s, editor } = session([server], undefined, {
    beforeTurn: (thread, text) => {
      calls.push(`before ${thread} ${text}, ${server.sent("turn/start").length} turns`);
      return Promise.resolve("git is missing");
    },
    afterTurn: (thread, turn) => {
      calls.push(`after ${thread} ${turn}`);
      return Promise.resolve({ kind: "changes", id: "changes-1", phase: "recorded", files: [], uncovered: ["a"] });
    },
  });
  await s.send("hello");
  await s.send("more");
  assert.equal(server.sent("turn/steer").length, 1);
  server.notify("turn/completed", { threadId: "t1", turn: { id: "turn1", items: [], status: "completed", error: null } });
  await editor.waitUntil(() => editor.events.includes("entry changes changes-1"));
  assert.deepEqual(calls, ["before t1 hello, 0 turns", "after t1 turn1"]);
  assert.ok(texts(s.entries()).includes("notice No restore point: git is missing"));
});

const newFile = (path: string): string => `diff --git a/${path} b/${path}\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+text\n`;

test("the files of a running turn are shown, grow, and are replaced by the recorded ones", async () => {
  let turns = 0;
  const server = codex({ "turn/start": () => ({ turn: { id: `turn${++turns}` } }) });
  const ends: (() => void)[] = [];
  const all: string[][] = [];
  const cwd = tempFolder();
  mkdirSync(join(cwd, ".git")); // or a folder above might be the repository
  const { session: s, editor } = session([server], undefined, {
    cwd,
    beforeTurn: () => Promise.resolve(""),
    afterTurn: async (_, turn, patched) => {
      all.push(patched);
      await new Promise<void>((done) => ends.push(done));
      const file = { path: "made", kind: "add" as const, added: 1, removed: 0, note: "", hunks: 1, parts: [], state: "" as const };
      return turn === "turn1" ? { kind: "changes", id: `changes-${turn}`, phase: "recorded", files: [file], uncovered: [] } : undefined;
    },
  });
  const shown = (): string => s.entries().flatMap((one) => (one.kind === "changes" ? [[one.phase, ...one.files.map((file) => file.path)].join(" ")] : [])).join(", ");
  const until = async (want: string): Promise<void> => {
    await editor.waitUntil(() => shown() === want);
    assert.equal(s.entries().at(-1)!.kind, "changes", "it follows the last entry");
  };
  const diff = (turnId: string, ...files: string[]): void => server.notify("turn/diff/updated", { threadId: "t1", turnId, diff: files.map((path) => newFile(path)).join("") });
  const complete = async (id: string): Promise<void> => {
    server.notify("turn/completed", { threadId: "t1", turn: { id, items: [], status: "completed", error: null } });
    await editor.waitUntil(() => editor.events.includes("completed") && ends.length === 1);
    diff(id, "late.txt");
    ends.pop()!();
  };
  await s.send("hello");
  diff("turn1", "a.txt");
  await until("running a.txt");
  server.notify("item/completed", item("agentMessage", "m", { text: "more" }));
  diff("turn1", "a.txt", "b.txt");
  await until("running a.txt b.txt");
  diff("turn1", "a.txt", "b.txt", "c.txt");
  await until("running a.txt b.txt c.txt");
  await complete("turn1");
  await until("recorded made");

  await s.send("again");
  diff("turn2", "d.txt");
  await until("recorded made, running d.txt");
  diff("turn2");
  await editor.waitUntil(() => shown() === "recorded made"); // the patches took each other back
  diff("turn2", "d.txt");
  await until("recorded made, running d.txt");
  await complete("turn2");
  await until("recorded made, unrecorded d.txt"); // there is no snapshot
  assert.deepEqual(all, [["a.txt", "b.txt", "c.txt"], ["d.txt"]]);
});

test("a steer that comes too late, a review and a compaction have a snapshot of their own", async () => {
  const server = codex({
    "turn/steer": () => {
      throw new Error("no active turn to steer");
    },
    "review/start": () => ({ turn: { id: "turn2" } }),
    "thread/compact/start": () => ({}),
  });
  const snapshots: string[] = [];
  const { session: s } = session([server], undefined, {
    beforeTurn: (_, text) => {
      snapshots.push(text);
      return Promise.resolve("");
    },
  });
  await s.send("hello");
  await s.send("too late");
  assert.equal(server.sent("turn/start").length, 2);
  await s.startTurn("review/start", {});
  await s.startTurn("thread/compact/start", {});
  assert.deepEqual(snapshots, ["hello", "too late", "Review", "Compaction"]);
});

for (const [name, leave] of [
  ["a new thread", (s: Session) => s.newThread()],
  ["another thread", (s: Session) => s.resume("t2")],
  ["the end of the program", (s: Session) => s.close()],
] as const) {
  test(`${name} during a turn ends its changes with a snapshot`, async () => {
    const server = codex({ "thread/resume": () => threadResponse("t2"), "turn/interrupt": () => ({}) });
    const calls: string[] = [];
    const { session: s } = session([server], undefined, {
      beforeTurn: () => Promise.resolve(""),
      turnBegan: (thread, turn) => void calls.push(`began ${thread} ${turn}`),
      afterTurn: (thread, turn) => {
        calls.push(`after ${thread} ${turn}`);
        return Promise.resolve(undefined);
      },
    });
    await s.send("hello");
    await leave(s);
    assert.deepEqual(calls, ["began t1 turn1", "after t1 turn1"]);
  });
}
