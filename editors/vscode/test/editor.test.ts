// The classes of src/editor and src/view, with a fake VS Code.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { beforeEach, test } from "node:test";
import type { ServerRequest } from "../src/core/serverRequest";
import { PendingRequests } from "../src/core/pendingRequests";
import { App } from "../src/editor/app";
import { openPlace, openSettings } from "../src/editor/policyCommands";
import { Threads } from "../src/editor/threads";
import { call } from "../src/editor/tools";
import { Chat } from "../src/view/chat";
import type { FromPage, ToPage } from "../src/view/messages";
import { calls, env, state, TabInputTextDiff, Uri } from "./fakeVscode";

beforeEach(() => {
  calls.length = 0;
  Object.assign(state, { folders: ["/w"], settings: {}, openFiles: [], diagnostics: [], activeTab: undefined });
  env.remoteName = undefined;
});

/** A webview view. Hiding it destroys its page, as VS Code does. */
class FakeView {
  visible = true;
  received: ToPage[] = [];
  badge: unknown;
  private receive: (message: FromPage) => void = () => undefined;
  private visibility = (): void => undefined;
  readonly webview = {
    options: {}, html: "", cspSource: "", asWebviewUri: (uri: Uri) => uri,
    onDidReceiveMessage: (f: (message: FromPage) => void) => void (this.receive = f),
    postMessage: (message: ToPage) => void (this.visible && this.received.push(message)),
  };
  onDidChangeVisibility = (f: () => void): void => void (this.visibility = f);
  onDidDispose = (): void => undefined;
  send = (message: FromPage): void => this.receive(message);
  show(visible: boolean): void {
    this.visible = visible;
    this.received = [];
    this.visibility();
  }
}

const attach = (chat: Chat): FakeView => {
  const view = new FakeView();
  chat.resolveWebviewView(view as never);
  view.send({ type: "ready" });
  return view;
};

const drafts = (view: FakeView): string[] => view.received.flatMap((one) => (one.type === "draft" ? [one.text] : []));

test("a selection that is sent while the side bar is hidden arrives", async () => {
  const chat = new Chat(new Uri("file", "/ext") as never, { state: () => ({}) as never, message: () => undefined, shown: () => undefined, visibilityChanged: () => undefined });
  const view = attach(chat);
  view.show(false);
  const focus = chat.focus("selected");
  view.show(true); // VS Code shows the view; its page is not loaded yet
  await focus;
  assert.deepEqual(drafts(view), [], "a page that is not loaded gets no message");
  view.send({ type: "ready" });
  assert.deepEqual(drafts(view), ["selected"]);
  // The page is destroyed before it confirms: the draft is sent again, once.
  view.show(false);
  view.show(true);
  view.send({ type: "ready" });
  const [draft] = view.received.filter((one) => one.type === "draft");
  assert.ok(draft);
  view.send({ type: "drafted", number: draft.number });
  view.show(false);
  view.show(true);
  view.send({ type: "ready" });
  assert.deepEqual(drafts(view), []);
});

interface Inside {
  session: { pendingRequests: PendingRequests; answer(id: string, choice: string): boolean; entries(): unknown[]; isRunning: boolean; current: undefined; continueConversation(): Promise<void> };
  diffs: { request(): string | undefined };
}

/** An app with a request of the server. Its answers are recorded. */
function appWith(method: string, params: object): { app: App; view: FakeView; answers: string[]; pending: PendingRequests; id: string } {
  const context = { subscriptions: [], extensionUri: new Uri("file", "/ext"), extension: { packageJSON: { version: "0" } }, storageUri: undefined };
  const app = new App(context as never, { info: () => undefined, error: () => undefined, show: () => undefined } as never);
  const answers: string[] = [];
  const pending = new PendingRequests((list: ServerRequest[]) => app.requests(list));
  (app as unknown as Inside).session = {
    pendingRequests: pending, entries: () => [], isRunning: false, current: undefined, continueConversation: () => Promise.resolve(),
    answer: (id, choice) => {
      answers.push(choice);
      return pending.answer(id, choice as never, {});
    },
  };
  const view = attach(app.chat);
  void pending.add(1, method, params, []);
  return { app, view, answers, pending, id: pending.list()[0]!.id };
}

const run = "item/commandExecution/requestApproval";

test("the palette does not accept a request that was not in view", () => {
  const { app, view, answers, id } = appWith(run, { command: "rm -rf x", cwd: "/w" });
  app.answerCurrent("accept");
  assert.deepEqual(answers, [], "it was in the chat, but not in view");
  assert.ok(calls.includes("command codexBridge.chat.focus"));
  view.send({ type: "seen", ids: [id] });
  view.show(false);
  app.answerCurrent("accept");
  assert.deepEqual(answers, [], "the side bar is hidden");
  view.show(true);
  app.answerCurrent("accept");
  assert.deepEqual(answers, ["accept"]);
});

test("the palette declines the only request, in view or not", () => {
  const { app, answers } = appWith(run, { command: "ls" });
  app.answerCurrent("decline");
  assert.deepEqual(answers, ["decline"]);
});

test("a diff does not accept what leaves the sandbox", () => {
  for (const [reason, want] of [["", ["accept"]], ["[codex-bridge: leaves the sandbox] /etc/x is outside", []]] as const) {
    const { app, answers, id } = appWith("item/fileChange/requestApproval", { reason });
    state.activeTab = new TabInputTextDiff(new Uri("codex-bridge-patch", "/w/a"), new Uri("codex-bridge-patch", "/w/a", "1"));
    (app as unknown as Inside).diffs.request = () => id;
    app.answerCurrent("accept");
    assert.deepEqual(answers, want, reason);
  }
});

test("a pending request becomes a notification when the chat is hidden", () => {
  const { view } = appWith(run, { command: "make", cwd: "/w" });
  assert.ok(!calls.some((line) => line.includes("make")), "the chat shows it");
  view.show(false);
  assert.deepEqual(calls.filter((line) => line.startsWith("information")), ["information | Codex: Run this command? make (in /w) | Accept | Accept for this session | Decline | Open Chat"]);
});

test("what leaves the sandbox is a warning without Accept", () => {
  const { view } = appWith(run, { command: "make", cwd: "/w", reason: "[codex-bridge: leaves the sandbox] the model requests it" });
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

test("with several folders, the tools name files in one way", async () => {
  state.folders = ["/appA", "/lib"];
  state.openFiles = ["/appA/a.json", "/lib/b.json"];
  const range = { start: { line: 0, character: 4 } };
  state.diagnostics = [[Uri.file("/appA/a.json"), [{ range, severity: 0, message: "bad" }]], [Uri.file("/lib/b.json"), [{ range, severity: 0, message: "worse" }]]];
  const text = async (name: string, input: object): Promise<string> => (await call("/appA", name, input)).contentItems[0]!.text;
  const names = (await text("editor_open_files", {})).split("\n");
  assert.deepEqual(names, ["a.json", "/lib/b.json"]);
  for (const path of names) assert.match(await text("editor_problems", { path }), new RegExp(`^${path}:1:5: error`));
  for (const path of names) assert.equal((await call("/appA", "editor_symbols", { path })).success, true, path);
  assert.match(await text("editor_problems", { path: "/etc/passwd" }), /outside the folder/);
});

test("a list of threads that fails shows the reason, not the last list", async () => {
  let broken = false;
  const threads = new Threads(() => (broken ? Promise.reject(new Error("/x is not an executable program")) : Promise.resolve([{ id: "t1", preview: "hello", name: null, cwd: "/w", createdAt: 0, updatedAt: 0, turns: [] }])), () => undefined, () => undefined);
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
