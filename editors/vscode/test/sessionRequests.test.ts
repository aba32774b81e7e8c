// Requests of Codex to a session, and their answers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bridge, codex, item, session, texts } from "./fakeServer";

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
