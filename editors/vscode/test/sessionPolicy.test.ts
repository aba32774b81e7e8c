// Decisions of the policy in a session: their cards, and what it leaves of a request.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bridge, item, Server, session, texts, threadResponse } from "./fakeServer";

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

test("under a policy a choice is offered only if the bridge keeps it", async () => {
  const server = bridge();
  const { session: s, editor } = session([server]);
  await s.send("hello");
  server.notify("item/started", item("fileChange", "p1", { status: "inProgress", changes: [{ path: "/w/a", kind: { type: "add" }, diff: "x" }] }));
  server.send({ id: 1, method: "item/fileChange/requestApproval", params: { threadId: "t1", itemId: "p1" } });
  await editor.waitUntil(() => editor.pending.length === 1);
  assert.deepEqual(editor.pending[0]!.choices, ["accept", "decline"]);
});
