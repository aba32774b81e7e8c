// Requests in the editor: the palette, notifications, diffs, and the edit of a patch.
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, test } from "node:test";
import { appWith, newApp, resetWindow, run } from "./fakeApp";
import { calls, state, TabInputTextDiff, Uri, workspace } from "./fakeVscode";
import { tempFolder } from "./tempFolder";

beforeEach(resetWindow);

test("the palette does not accept a request that was not in view", () => {
  const { app, view, answers, id } = appWith(run, { command: "rm -rf x", cwd: "/w" });
  app.requests.answerCurrent("accept");
  assert.deepEqual(answers, [], "it was in the chat, but not in view");
  assert.ok(calls.includes("command codexBridge.chat.focus"));
  view.send({ type: "seen", ids: [id] });
  view.show(false);
  app.requests.answerCurrent("accept");
  assert.deepEqual(answers, [], "the side bar is hidden");
  view.show(true);
  app.requests.answerCurrent("accept");
  assert.deepEqual(answers, ["accept"]);
});

test("the palette declines the only request, in view or not", () => {
  const { app, answers } = appWith(run, { command: "ls" });
  app.requests.answerCurrent("decline");
  assert.deepEqual(answers, ["decline"]);
});

test("a diff does not accept what leaves the sandbox", () => {
  for (const [reason, want] of [["", ["accept"]], ["[codex-bridge: leaves the sandbox] /etc/x is outside", []]] as const) {
    const { app, answers, id } = appWith("item/fileChange/requestApproval", { reason }, "bridge");
    state.activeTab = new TabInputTextDiff(new Uri("codex-bridge-patch", "/w/a"), new Uri("codex-bridge-patch", "/w/a", "1"));
    app.requests.diffs.request = () => id;
    app.requests.answerCurrent("accept");
    assert.deepEqual(answers, want, reason);
  }
});

test("an edited patch is accepted with its text, and a request that ends keeps it", async () => {
  const root = tempFolder();
  state.folders = [root];
  const { app, view, chats } = newApp();
  const { session } = chats.current;
  const pending = session.pendingRequests;
  const ask = (): string => {
    void pending.add(1, "item/fileChange/requestApproval", { threadId: "t", turnId: "u" }, [{ path: join(root, "a.txt"), kind: { type: "add" }, diff: "one\n" }]);
    return pending.list()[0]!.id;
  };
  const shown = (): string[] => view.received.flatMap((one) => (one.type === "requests" ? [one.requests.map((request) => request.edit).join()] : [])).slice(-1);
  const steered: object[] = [];
  session.call = (_, params) => Promise.resolve(void steered.push(params) as never);
  const sides = (): Uri[] => {
    const line = calls.findLast((one) => one.startsWith("command vscode.diff"))!;
    return /^command vscode\.diff (\{.*?\}) (\{.*?\}) "a\.txt \(edit, then accept\)"/.exec(line)!.slice(1).map((text) => Object.assign(new Uri("", ""), JSON.parse(text) as Uri));
  };
  const isDone = (): Promise<unknown> => new Promise((done) => setTimeout(done, 50));

  const first = ask();
  assert.deepEqual(shown(), ["offered"]);
  await app.requests.edit(first);
  assert.deepEqual(shown(), ["open"]);
  const [left, right] = sides();
  assert.throws(() => app.requests.edits.readFile(new Uri("codex-bridge-edit", "/none") as never), /no file/);
  assert.deepEqual([left!, right!].map((uri) => [app.requests.edits.stat(uri as never).permissions, String(app.requests.edits.readFile(uri as never))]), [[1, ""], [undefined, "one\n"]]);
  app.requests.edits.writeFile(right! as never, Buffer.from("mine\n"));
  assert.ok(app.requests.answer(first, "accept"));
  assert.ok(app.requests.answer(first, "accept"), "a second click");
  while (pending.list().length > 0) await isDone();
  assert.equal(readFileSync(join(root, "a.txt"), "utf8"), "mine\n");
  assert.equal(steered.length, 1);
  assert.throws(() => app.requests.edits.readFile(right! as never), /no file/, "it is closed");

  rmSync(join(root, "a.txt"));
  await app.requests.edit(ask());
  app.requests.answer(pending.list()[0]!.id, "decline");
  assert.ok(!calls.some((line) => line.startsWith("warning")), "an unchanged text closes without a message");
  await app.requests.edit(ask());
  const open = sides()[1]!;
  workspace.textDocuments.push({ uri: open, getText: () => "typed\n" });
  pending.resolve(1);
  assert.ok(calls.includes("warning | The request is over, so nothing was written. Your text stays in the editor."));
  assert.equal(String(app.requests.edits.readFile(open as never)), "one\n", "it stays open");
  workspace.textDocuments.length = 0;

  writeFileSync(join(root, "a.txt"), "crlf\r\n");
  await app.requests.edit(ask());
  assert.ok(calls.includes("warning | a.txt can't be edited here: it is not plain text in UTF-8 with LF."));
  workspace.textDocuments.push({ uri: Uri.file(join(root, "a.txt")), isDirty: true, getText: () => "unsaved\n" });
  await app.requests.edit();
  assert.ok(calls.includes("warning | a.txt has unsaved changes. Save or revert them, then edit the patch."));
  workspace.textDocuments.length = 0;
  assert.deepEqual(shown(), ["offered"]);
  rmSync(join(root, "a.txt"));
  await app.requests.edit();
  view.send({ type: "discardEdit", id: pending.list()[0]!.id });
  await isDone();
  assert.deepEqual(shown(), ["offered"]);
  assert.ok(!existsSync(join(root, "a.txt")));
  pending.declineAll(() => true);
});

test("a pending request becomes a notification when the chat is hidden", () => {
  const { view } = appWith(run, { command: "make", cwd: "/w" });
  assert.ok(!calls.some((line) => line.includes("make")), "the chat shows it");
  view.show(false);
  assert.deepEqual(calls.filter((line) => line.startsWith("information")), ["information | Codex: Run this command? make (in /w) | Accept | Accept for this session | Decline | Open Chat"]);
});

test("what leaves the sandbox is a warning without Accept", () => {
  const { view } = appWith(run, { command: "make", cwd: "/w", reason: "[codex-bridge: leaves the sandbox] the model requests it" }, "bridge");
  view.show(false);
  assert.deepEqual(calls.filter((line) => line.startsWith("warning")), ["warning | Codex: Leaves the sandbox. Run this command? Answer in the chat. | Open Chat"]);
});

test("an expired approval is a notification while the chat is hidden", () => {
  const { app, view } = appWith(run, { command: "make" });
  const entry = { kind: "policy", id: "p", card: "expired", decisions: [{ what: "make", why: "", rule: "", where: "", canOpen: false, explanation: [] }] } as const;
  app.entry(entry as never);
  assert.ok(!calls.some((line) => line.startsWith("warning")));
  view.show(false);
  app.entry(entry as never);
  assert.ok(calls.includes("warning | Codex: no answer in time: declined. make | Open Chat"));
});
