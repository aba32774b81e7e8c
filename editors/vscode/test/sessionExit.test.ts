// Starts of a session that fail, and the end of its program.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bridge, codex, item, Server, session, texts, threadResponse } from "./fakeServer";

test("a program that is not the bridge is an error", async () => {
  const { session: s, editor } = session([new Server({}, "bridge")]);
  await assert.rejects(s.send("hello"), /is not codex-bridge/);
  assert.equal(editor.lastGate?.level, "broken");
  assert.deepEqual(texts(s.entries()).map((t) => t.split(" ")[0]), ["notice"]);
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
