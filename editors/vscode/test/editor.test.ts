// Threads, settings and pickers in the editor, and the walkthrough.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { beforeEach, test } from "node:test";
import { asksAll } from "../src/core/granular";
import { archiveThread, renameThread, unarchiveThread } from "../src/editor/threadCommands";
import { openPlace, openSettings } from "../src/editor/policyCommands";
import { threadName, Threads } from "../src/editor/threads";
import { newApp, resetWindow } from "./fakeApp";
import { calls, env, state } from "./fakeVscode";

beforeEach(resetWindow);

test("the name of a thread is shown visibly", () => {
  assert.equal(threadName({ id: "t", preview: "a\u202eb\nmore", name: null, cwd: "/w", createdAt: 0, updatedAt: 0, turns: [] }), "a\\u202eb");
});

test("a list of threads that fails shows the reason, not the last list", async () => {
  let broken = false;
  const threads = new Threads(() => (broken ? Promise.reject(new Error("/x is not an executable program")) : Promise.resolve([{ id: "t1", preview: "hello", name: null, cwd: "/w", createdAt: 0, updatedAt: 0, turns: [] }])), () => undefined, () => "", () => undefined);
  assert.equal((await threads.getChildren()).length, 1);
  broken = true;
  const [row, ...rest] = (await threads.getChildren()).map((one) => threads.getTreeItem(one));
  assert.deepEqual(rest, []);
  assert.deepEqual([row!.label, row!.description, row!.command?.command], ["The threads can't be listed.", "/x is not an executable program", "codexBridge.settings"]);
});

test("in a remote window, the settings are the remote ones", async () => {
  await openSettings();
  env.remoteName = "ssh-remote";
  await openSettings();
  assert.deepEqual(calls, ['command workbench.action.openSettings "codexBridge"', 'command workbench.action.openRemoteSettings {"query":"codexBridge"}']);
});

test("a file of the policy opens at its line", async () => {
  await openPlace({ file: "/home/me/config.toml", line: 6 });
  assert.deepEqual(calls, ["open /home/me/config.toml:6"]);
});

test("the walkthrough has no Markdown that VS Code shows literally, and opens all settings", () => {
  const { contributes } = JSON.parse(readFileSync("package.json", "utf8")) as { contributes: { walkthroughs: { description: string; steps: { description: string }[] }[]; commands: { command: string }[] } };
  const names = new Set(contributes.commands.map((one) => one.command));
  for (const { description } of contributes.walkthroughs.flatMap((one) => [one, ...one.steps])) {
    assert.doesNotMatch(description, /`/);
    for (const [, command] of description.matchAll(/\(command:([\w.]+)/g)) assert.ok(names.has(command!), command);
  }
});

test("a value that the policy does not allow can't be chosen", async () => {
  const { app, view, chats } = newApp();
  const { session } = chats.current;
  session.hasMethod = () => Promise.resolve(true);
  session.call = (_, params) => {
    const { params: turn } = (params as { message: { params: { approvalPolicy?: unknown } } }).message;
    const change = { field: "params.approvalPolicy", rule: "policy.approval", reason: "no", origin: "o", from: turn.approvalPolicy, to: "untrusted" };
    return Promise.resolve({ mode: "enforce", verdict: "rewrite", changes: turn.approvalPolicy === "never" || typeof turn.approvalPolicy === "object" ? [change] : [] } as never);
  };
  await app.composing.pick("permissions");
  const last = view.received.findLast((one) => one.type === "picker");
  assert.deepEqual(last?.groups[0]?.options.map((one) => [one.value, one.why]), [["untrusted", ""], ["on-request", ""], [asksAll, "Not allowed: no (policy.approval, o)"], ["never", "Not allowed: no (policy.approval, o)"]]);
  const pick = async (value: string): Promise<void> => {
    view.send({ type: "choose", kind: "permissions", setting: "approvalPolicy", value });
    await new Promise(setImmediate);
  };
  await pick("never");
  await pick(asksAll);
  assert.deepEqual(chats.current.chosen, {});
  await pick("untrusted");
  assert.deepEqual(chats.current.chosen, { approvalPolicy: "untrusted" });
  let params: object | undefined;
  session.send = (_, __, more) => {
    params = more;
    return Promise.resolve(true);
  };
  await app.send("go");
  assert.deepEqual([params, chats.current.chosen], [{ approvalPolicy: "untrusted" }, {}], "it applies to the thread from this turn on");
});

test("choices that can't be listed are said beside the message", async () => {
  const { app, view, chats } = newApp();
  chats.current.session.call = () => Promise.reject(new Error("no models"));
  await app.composing.pick("model");
  assert.deepEqual(view.received.findLast((one) => one.type === "problem"), { type: "problem", text: "The choices can't be listed: no models" });
});

test("a picker that is asked for while the side bar is hidden appears when the page is loaded", async () => {
  const { app, view, chats } = newApp();
  chats.current.session.hasMethod = () => Promise.resolve(false);
  view.show(false);
  await app.composing.pick("permissions");
  view.show(true);
  assert.equal(view.received.length, 0);
  view.send({ type: "ready" });
  assert.deepEqual(view.received.filter((one) => one.type === "focus" || one.type === "picker").map((one) => one.type), ["focus", "picker"]);
});

test("a thread is renamed, archived and unarchived by the program that has it", async () => {
  const { app, chats } = newApp();
  const sent: string[] = [];
  chats.current.session.call = (method, params) => {
    sent.push(`${method} ${JSON.stringify(params)}`);
    return Promise.resolve({} as never);
  };
  const thread = { id: "t1", preview: "hello", name: null, cwd: "/w", createdAt: 0, updatedAt: 0, turns: [] };
  state.input = " new name ";
  await renameThread(app, thread);
  await archiveThread(app, thread);
  await unarchiveThread(app, thread);
  assert.deepEqual(sent, ['thread/name/set {"threadId":"t1","name":"new name"}', 'thread/archive {"threadId":"t1"}', 'thread/unarchive {"threadId":"t1"}']);
  assert.ok(calls.includes("information | Archived: hello | Unarchive"));
  chats.current.session.call = () => Promise.reject(new Error("it is open elsewhere"));
  await archiveThread(app, thread);
  assert.ok(calls.includes("error The thread can't be changed: it is open elsewhere"));
});
