import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answers, bridge, opened, Server, session } from "./fakeServer";

const codex = (answers: Answers = {}): Server => new Server(answers, "codex");
const gated = (answers: Answers = {}): Server => new Server({ initialize: bridge, ...answers }, "bridge");
const texts = (entries: { kind: string; text?: string }[]): string[] => entries.map((e) => `${e.kind} ${e.text ?? ""}`.trim());
const item = (type: string, id: string, more: object = {}): Record<string, unknown> => ({ threadId: "t1", turnId: "turn1", item: { type, id, ...more } });

test("plain codex: tools go with thread/start, and no word of the bridge", async () => {
  const server = codex();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  assert.deepEqual(Object.keys(server.sent("thread/start")[0]!), ["cwd", "approvalPolicy", "sandbox", "dynamicTools"]);
  assert.deepEqual(server.sent("initialize")[0]!["capabilities"], { experimentalApi: true });
  assert.equal(editor.last?.short, "no gate");
  assert.equal(editor.kept?.threadId, "t1");
});

test("the bridge: tools are registered, the thread is a session's", async () => {
  const server = gated();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  assert.deepEqual(server.sent("initialize")[0]!["capabilities"], { experimentalApi: true, bridge: { version: 1, tools: true, elicitations: true } });
  assert.deepEqual(server.sent("thread/start")[0]!["bridge"], { sessionKey: "new-key" });
  assert.equal(server.sent("thread/start")[0]!["dynamicTools"], undefined);
  assert.equal(server.sent("bridge/tool/register").length, 1);
  assert.equal(editor.last?.short, "gate on");
  assert.deepEqual(editor.kept, { key: "new-key", threadId: "t1" });
});

test("a program that was taken for the bridge and is not is an error", async () => {
  const { session: s, editor } = session([new Server({}, "bridge")]);
  await assert.rejects(s.send("hello"), /does not answer as codex-bridge/);
  assert.equal(editor.last?.level, "broken");
  assert.deepEqual(texts(s.entries()).map((t) => t.split(" ")[0]), ["notice"]);
});

test("what was typed is shown until codex has it, and goes back when it has not", async () => {
  const server = codex({ "turn/start": () => { throw new Error("too much to do"); } });
  const { session: s } = session([server]);
  await assert.rejects(s.send("hello"), /too much to do/);
  assert.deepEqual(texts(s.entries()), ["notice too much to do"]);
});

test("an answer streams into one entry", async () => {
  const server = codex();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  const id = String(server.sent("turn/start")[0]!["clientUserMessageId"]);
  server.tell("item/started", item("userMessage", "u1", { clientId: id, content: [{ type: "text", text: "hello" }] }));
  server.tell("item/started", item("agentMessage", "m1", { text: "" }));
  server.tell("item/agentMessage/delta", { threadId: "t1", itemId: "m1", delta: "Good " });
  server.tell("item/agentMessage/delta", { threadId: "t1", itemId: "m1", delta: "day" });
  server.tell("item/agentMessage/delta", { threadId: "somebody-else", itemId: "m1", delta: "!" });
  server.tell("turn/completed", { threadId: "t1", turn: { id: "turn1", items: [], status: "completed", error: null } });
  await editor.until(() => editor.told.includes("running false"));
  assert.deepEqual(texts(s.entries()), ["user hello", "assistant Good day"]);
  assert.deepEqual(editor.told.filter((line) => /^(grow|gone)/.test(line)), ["gone sent-N-N", "grow m1 Good ", "grow m1 day"]);
});

test("a message while a turn runs steers it; one that comes too late starts another", async () => {
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
  assert.deepEqual(server.heard.map((m) => m.method).filter((m) => m?.startsWith("turn/")), ["turn/start", "turn/steer", "turn/steer", "turn/start"]);
});

test("a turn that has ended before turn/start is answered does not run for ever", async () => {
  const server = codex({
    "turn/start": (_, self) => {
      self.tell("turn/started", { threadId: "t1", turn: { id: "turn1" } });
      self.tell("turn/completed", { threadId: "t1", turn: { id: "turn1", items: [], status: "failed", error: { message: "no model" } } });
      return { turn: { id: "turn1" } };
    },
  });
  const { session: s } = session([server]);
  await s.send("hello");
  assert.equal(s.isRunning, false);
  assert.deepEqual(texts(s.entries()).at(-1), "notice no model");
});

test("an approval knows its patch, is answered once, and the answer goes back under its id", async () => {
  const server = codex();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  server.tell("item/started", item("fileChange", "p1", { status: "inProgress", changes: [{ path: "/w/a", kind: { type: "add" }, diff: "x\ny\n" }] }));
  server.say({ id: 0, method: "item/fileChange/requestApproval", params: { threadId: "t1", turnId: "turn1", itemId: "p1" } });
  await editor.until(() => editor.waiting.length === 1);
  server.say({ id: "0", method: "item/commandExecution/requestApproval", params: { threadId: "child", turnId: "x", itemId: "c", command: "ls" } });
  await editor.until(() => editor.waiting.length === 2);
  const [patch, command] = editor.waiting;
  assert.deepEqual(patch!.files, [{ path: "/w/a", kind: "add", added: 2, removed: 0 }]);
  assert.equal(s.answer(command!.id, "decline", {}), true);
  assert.equal(s.answer(patch!.id, "accept", {}), true);
  assert.equal(s.answer(patch!.id, "accept", {}), false);
  server.tell("thread/name/updated", { threadId: "t1", threadName: "seen" });
  await editor.until(() => editor.told.includes("title seen"));
  await s.stop(); // its request comes behind the answers
  assert.deepEqual(server.heard.filter((m) => m.result !== undefined), [
    { jsonrpc: "2.0", id: "0", result: { decision: "decline" } },
    { jsonrpc: "2.0", id: 0, result: { decision: "accept" } },
  ]);
});

test("a question that codex takes back, and one whose turn ends, are gone", async () => {
  const server = codex();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  const ask = (id: number): void => server.say({ id, method: "item/commandExecution/requestApproval", params: { threadId: "t1", itemId: "c", command: `ls ${id}` } });
  ask(1);
  ask(2);
  await editor.until(() => editor.waiting.length === 2);
  server.tell("serverRequest/resolved", { threadId: "t1", requestId: 1 });
  await editor.until(() => editor.waiting.length === 1);
  assert.equal(editor.waiting[0]!.command, "ls 2");
  server.tell("turn/completed", { threadId: "t1", turn: { id: "turn1", items: [], status: "interrupted", error: null } });
  await editor.until(() => editor.waiting.length === 0);
  assert.equal(texts(s.entries()).at(-1), "notice Stopped.");
});

test("a request that is not known is an error, not a silence", async () => {
  const server = codex();
  const { session: s } = session([server]);
  await s.send("hello");
  server.say({ id: 7, method: "attestation/generate", params: {} });
  server.say({ id: 8, method: "item/tool/call", params: { threadId: "t1", tool: "look", arguments: {} } });
  await s.send("again");
  await s.send("and again"); // the answers went before these
  assert.equal(server.heard.find((m) => m.id === 7 && m.method === undefined)?.error?.code, -32601);
  assert.deepEqual(server.heard.find((m) => m.id === 8 && m.method === undefined)?.result, { contentItems: [{ type: "inputText", text: "look was called" }], success: true });
});

test("a crash is told, what waited is gone, and the next message goes on with the thread", async () => {
  const first = codex();
  const second = codex({ "thread/resume": (p) => opened(String(p["threadId"]), [{ id: "turn1", status: "completed", error: null, items: [{ type: "agentMessage", id: "m1", text: "as before" }] }]) });
  const { session: s, editor } = session([first, second]);
  await s.send("hello");
  first.say({ id: 1, method: "item/commandExecution/requestApproval", params: { threadId: "t1", itemId: "c", command: "ls" } });
  await editor.until(() => editor.waiting.length === 1);
  const asked = editor.waiting[0]!;
  first.crash("codex was ended by SIGKILL");
  await editor.until(() => editor.last?.level === "broken");
  assert.equal(editor.waiting.length, 0);
  assert.equal(s.isRunning, false);
  assert.match(texts(s.entries()).at(-1)!, /SIGKILL/);
  const stale = asked.id;
  await s.send("still there?");
  second.say({ id: 1, method: "item/commandExecution/requestApproval", params: { threadId: "t1", itemId: "c", command: "rm" } });
  await editor.until(() => editor.waiting.length === 1);
  assert.equal(s.answer(stale, "accept", {}), false, "a question of the app-server before was taken for one of this");
  assert.equal(second.sent("thread/resume")[0]!["threadId"], "t1");
  assert.equal(second.sent("turn/start")[0]!["threadId"], "t1");
  assert.ok(texts(s.entries()).includes("assistant as before"));
  assert.ok(texts(s.entries()).includes("user still there?"));
});

test("a thread that codex has lost is replaced, and that is said; one that was chosen is not", async () => {
  const lost: Answers = { "thread/resume": () => { throw new Error("no rollout found for thread id t0"); } };
  const { session: s } = session([codex(lost)], { key: "k", threadId: "t0" });
  await s.send("hello");
  assert.match(texts(s.entries()).join("\n"), /another thread than before/);
  const { session: chosen } = session([codex(lost)]);
  await assert.rejects(chosen.resume("t0"), /no rollout found/);
});

test("what is in force is told where it is not what the settings say", async () => {
  const server = codex({ "thread/start": () => ({ ...opened("t1"), approvalPolicy: "untrusted", sandbox: { type: "readOnly" } }) });
  const { session: s } = session([server]);
  await s.send("hello");
  assert.match(texts(s.entries()).join("\n"), /approval “untrusted”[^]*sandbox “read-only”/);
});

test("a new thread forgets the one before", async () => {
  const server = codex();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  await s.fresh();
  assert.deepEqual([s.entries(), s.isRunning, editor.kept], [[], false, undefined]);
  await s.send("hello again");
  assert.equal(server.sent("thread/start").length, 2);
  assert.equal(server.sent("turn/interrupt").length, 1);
});

test("a thread that the window before still has is waited for, but not for ever", async () => {
  let holds = 3;
  const busy = (): object => {
    if (holds-- > 0) throw Object.assign(new Error("held by process 7"), { code: -32015 });
    return opened("t0");
  };
  const server = gated({ "thread/start": busy });
  const { session: s } = session([server], { key: "k", threadId: "t0" });
  await s.reopen();
  assert.equal(server.sent("thread/start").length, 4);
  holds = Infinity;
  const { session: other } = session([gated({ "thread/start": busy })], { key: "k", threadId: "t0" });
  await assert.rejects(other.reopen(), /process 7/);
});
