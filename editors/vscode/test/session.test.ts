// A session: its program, the turns that it starts and steers, and the entries of the chat.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bridge, codex, item, session, texts } from "./fakeServer";

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

test("a request of the bridge needs a bridge that has it", async () => {
  const { session: plain } = session([codex()]);
  await assert.rejects(plain.askBridge("bridge/grant/list", {}), /needs codex-bridge/);
  const { session: old } = session([bridge()]);
  await assert.rejects(old.askBridge("bridge/policy/explain", {}), /no bridge\/policy\/explain/);
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
