// The thread of a session: how it is opened and left, and its settings.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answers, bridge, codex, session, texts, threadResponse } from "./fakeServer";

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

test("a thread that the chat leaves is unsubscribed", async () => {
  const server = codex({ "thread/unsubscribe": () => ({}) });
  const { session: s } = session([server]);
  await s.send("hello");
  await s.resume("t2");
  await s.newThread();
  assert.deepEqual(server.sent("thread/unsubscribe"), [{ threadId: "t1" }, { threadId: "t2" }]);
});

test("a fork is a thread of its own, and is resumed as such", async () => {
  const server = codex({ "thread/fork": () => threadResponse("t2") });
  const { session: s, editor } = session([server], { key: "", threadId: "t1", isFork: true });
  await s.continueConversation();
  assert.equal(server.sent("thread/fork")[0]!["threadId"], "t1");
  assert.deepEqual(server.sent("thread/resume"), []);
  assert.deepEqual(editor.conversation, { key: "", threadId: "t2" });
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
