// The classes of src/editor and src/view, with a fake VS Code.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, test } from "node:test";
import type { PendingRequests } from "../src/core/pendingRequests";
import { App } from "../src/editor/app";
import { asksAll } from "../src/core/granular";
import { chooseFolder, closeChat, newChat, openChat } from "../src/editor/chatCommands";
import type { Chats } from "../src/editor/chats";
import { suggestFiles } from "../src/editor/context";
import { openFile, resolveFile } from "../src/editor/fileLinks";
import { archiveThread, renameThread, unarchiveThread } from "../src/editor/threadCommands";
import { openPlace, openSettings } from "../src/editor/policyCommands";
import { threadName, Threads } from "../src/editor/threads";
import { call } from "../src/editor/tools";
import { Chat } from "../src/view/chat";
import type { FromPage, PageState, ToPage } from "../src/view/messages";
import { calls, env, state, TabInputTextDiff, Uri, workspace } from "./fakeVscode";
import { tempFolder } from "./tempFolder";

beforeEach(() => {
  calls.length = 0;
  Object.assign(state, { folders: ["/w"], settings: {}, openFiles: [], diagnostics: [], activeTab: undefined, activeEditor: undefined, input: undefined, foundFiles: [] });
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

interface Inside {
  chats: Chats;
}

/** An app with a storage folder of its own, and its webview. */
function newApp(storage?: string): { app: App; view: FakeView; chats: Chats } {
  const context = { subscriptions: [], extensionUri: new Uri("file", "/ext"), extension: { packageJSON: { version: "0" } }, storageUri: storage === undefined ? undefined : Uri.file(storage) };
  const app = new App(context as never, { info: () => undefined, error: () => undefined, show: () => undefined } as never);
  const { chats } = app as unknown as Inside;
  return { app, view: attach(app.chat), chats };
}

/** An app with a request of the server. Its answers are recorded. */
function appWith(method: string, params: object, keeper?: "bridge"): { app: App; view: FakeView; answers: string[]; pending: PendingRequests; id: string } {
  const { app, view, chats } = newApp();
  const answers: string[] = [];
  const { session } = chats.current;
  const pending = session.pendingRequests;
  const answer = session.answer.bind(session);
  session.answer = (id, choice, values) => {
    answers.push(choice);
    return answer(id, choice, values);
  };
  void pending.add(1, method, params, [], keeper);
  return { app, view, answers, pending, id: pending.list()[0]!.id };
}

const selected = (path: string, text: string): object => ({
  document: { uri: Uri.file(path), languageId: "typescript", getText: () => text },
  selection: { isEmpty: text === "", start: { line: 2, character: 0 }, end: { line: 3, character: 4 } },
});
const labels = (view: FakeView): string[] => view.received.flatMap((one) => (one.type === "state" ? [one.state.chips] : one.type === "chips" ? [one.chips] : [])).at(-1)?.map((chip) => chip.label) ?? [];

test("a selection that is added while the side bar is hidden arrives, and stays until it is sent or removed", async () => {
  const { app, view, chats } = newApp();
  view.show(false);
  state.activeEditor = selected("/w/src/a.ts", "one\ntwo\n");
  await app.composing.addSelection();
  view.show(true); // the page is not loaded yet
  assert.deepEqual(labels(view), []);
  view.send({ type: "ready" });
  assert.deepEqual(labels(view), ["src/a.ts:3–4"]);
  view.show(false); // the page is destroyed
  view.show(true);
  view.send({ type: "ready" });
  assert.deepEqual(labels(view), ["src/a.ts:3–4"]);
  await app.composing.addSelection(); // the same lines again
  assert.deepEqual(labels(view), ["src/a.ts:3–4"]);
  view.send({ type: "removeChip", id: chats.current.attachments.chips()[0]!.id });
  assert.deepEqual(labels(view), []);
});

const run = "item/commandExecution/requestApproval";

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

const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);

test("a pasted image is a private file until its turn ends", async () => {
  const folder = tempFolder();
  const { app, view, chats } = newApp(folder);
  const images = join(folder, "images");
  view.send({ type: "image", name: "shot.png", data: png });
  assert.deepEqual(labels(view), ["shot.png, 1 kB"]);
  const [file] = readdirSync(images);
  assert.match(file!, /^[\da-f-]{36}\.png$/, "the name of the file is not that of the user");
  assert.equal(statSync(images).mode & 0o777, 0o700);
  assert.equal(statSync(join(images, file!)).mode & 0o777, 0o600);
  let sent: unknown;
  const { session } = chats.current;
  session.send = (_, input) => {
    sent = input;
    chats.current.running(true);
    return Promise.resolve(true);
  };
  Object.defineProperty(session, "isRunning", { get: () => chats.current.since > 0 });
  await app.send("");
  assert.deepEqual(sent, [{ type: "localImage", path: join(images, file!) }]);
  assert.equal(readdirSync(images).length, 1, "Codex has not read it yet");
  chats.current.running(false);
  assert.deepEqual(readdirSync(images), []);
  view.send({ type: "image", name: "again.png", data: png });
  view.send({ type: "removeChip", id: chats.current.attachments.chips()[0]!.id });
  assert.deepEqual(readdirSync(images), []);
  view.send({ type: "image", name: "x.svg", data: new TextEncoder().encode("<svg/>") });
  assert.deepEqual(view.received.at(-1), { type: "problem", text: "x.svg is not a PNG, JPEG, GIF or WebP image." });
});

test("a message that can't be sent keeps its context", async () => {
  const { app, view, chats } = newApp();
  state.activeEditor = selected("/w/a.ts", "one");
  await app.composing.addSelection();
  chats.current.session.send = () => Promise.reject(new Error("no"));
  assert.equal(await app.send("look"), false);
  assert.deepEqual(labels(view), ["a.ts:3–4"]);
});

test("problems of the active file are context", async () => {
  const { app, view } = newApp();
  await app.composing.addProblems();
  assert.ok(calls.includes("information | No file is open in the editor."));
  state.activeEditor = selected("/w/a.ts", "one");
  await app.composing.addProblems();
  assert.ok(calls.includes("information | The editor reports no problems in a.ts."));
  state.diagnostics = [[Uri.file("/w/a.ts"), [{ range: { start: { line: 0, character: 4 } }, severity: 0, message: "bad" }]]];
  await app.composing.addProblems();
  assert.deepEqual(labels(view), ["a.ts: 1 problem"]);
});

test("files are suggested by Codex, and by VS Code if the policy refuses that", async () => {
  const { chats } = newApp();
  const { session } = chats.current;
  const asked: unknown[] = [];
  session.call = (method, params) => {
    asked.push([method, params]);
    return Promise.resolve({ files: [{ path: ".git/src", match_type: "directory" }, { path: "src", match_type: "directory" }, { path: "src/a b.ts", match_type: "file" }] } as never);
  };
  const suggest = (query: string): Promise<string[]> => suggestFiles({ folder: "/w", session }, query, () => undefined).then((list) => list.map((one) => `${one.insert} ${one.detail}`));
  assert.deepEqual(await suggest("src"), ["@src src/ folder", '@"src/a b.ts" src/a b.ts']);
  assert.deepEqual(asked, [["fuzzyFileSearch", { query: "src", roots: ["/w"], cancellationToken: null }]]);
  session.call = () => Promise.reject(new Error("refused"));
  state.foundFiles = ["/w/lib/src.c", "/w/other.c", "/w/src.c"];
  assert.deepEqual(await suggest("src"), ["@src.c ", "@lib/src.c lib/src.c"]);
});

test("a name of a file opens nothing but an existing file, and no link leads out of the folder", async () => {
  const folder = tempFolder();
  const root = join(folder, "w");
  mkdirSync(join(root, "sub"), { recursive: true });
  writeFileSync(join(root, "a.ts"), "");
  writeFileSync(join(root, "..", "secret"), "");
  writeFileSync(join(root, "a\u202e.ts"), "");
  symlinkSync(join(root, "..", "secret"), join(root, "way"));
  state.folders = [root];
  assert.equal(resolveFile("a.ts", root), join(root, "a.ts"));
  assert.equal(resolveFile(join(root, "a.ts"), root), join(root, "a.ts"));
  for (const bad of ["gone.ts", "sub", "../secret", "way", `/${join(root, "a.ts")}`, "\\\\server\\a.ts", "a.ts\u0000", "a\u202e.ts", "", "/dev/null"]) assert.equal(resolveFile(bad, root), undefined, bad);
  const second = join(root, "..", "second");
  mkdirSync(second);
  writeFileSync(join(second, "a.ts"), "");
  state.folders = [root, second];
  assert.equal(resolveFile("a.ts", second), join(second, "a.ts"), "the folder of the chat comes first");
  await openFile("a.ts", 3, 2, root);
  await openFile("gone.ts", 1, 0, root);
  assert.deepEqual(calls, [`open ${join(root, "a.ts")}:3`, "information | gone.ts is not a file of this machine."]);
});

const request = (chats: Chats, command: string): string => {
  const { pendingRequests } = chats.current.session;
  void pendingRequests.add(1, run, { command, cwd: "/w" }, []);
  return pendingRequests.list().at(-1)!.id;
};

test("a request of a chat that is not shown is shown with its name, and answered there", async () => {
  const { app, view, chats } = newApp();
  const first = chats.current;
  first.title("the first");
  const id = request(chats, "make");
  await openChat(app);
  assert.equal(view.received.filter((one) => one.type === "state").at(-1)?.state.tabs.length, 2);
  const other = request(chats, "make"); // the same id of the server, from another program
  app.requestsChanged();
  const shown = view.received.filter((one) => one.type === "requests").at(-1)!.requests;
  assert.deepEqual(shown.map((one) => [one.id, one.chat]), [[other, ""], [id, "the first"]]);
  view.send({ type: "answer", id, choice: "decline", values: {} });
  assert.deepEqual([first, chats.current].map((chat) => chat.session.pendingRequests.list().length), [0, 1]);
  assert.deepEqual(view.received.filter((one) => one.type === "tabs").at(-1)?.tabs.map((tab) => tab.state), ["idle", "waiting"]);
});

test("chats are saved, and the last one can't vanish", async () => {
  const folder = tempFolder();
  const { app, view, chats } = newApp(folder);
  chats.current.title("one");
  chats.current.saveConversation({ key: "k", threadId: "t1" });
  await openChat(app);
  const [first, second] = chats.list.map((chat) => chat.id);
  view.send({ type: "draft", id: first!, text: "half a message" });
  view.send({ type: "draft", id: second!, text: "another one" });
  view.send({ type: "draft", id: "closed", text: "nowhere" });
  const again = newApp(folder); // at once: VS Code itself saves the state of a page with a delay
  assert.deepEqual(again.chats.list.map((chat) => [chat.name, chat.session.current, chat.draft]), [["one", "t1", "half a message"], ["New chat", undefined, "another one"]]);
  assert.equal(again.view.received.flatMap((one) => (one.type === "state" ? [one.state.draft] : [])).at(-1), "another one");
  assert.equal(again.chats.current, again.chats.list[1]);
  await closeChat(again.app);
  await closeChat(again.app);
  assert.deepEqual(again.chats.list.map((chat) => chat.name), ["New chat"]);
  for (let i = 0; i < 20; i++) await openChat(again.app);
  assert.equal(again.chats.list.length, 8);
  assert.ok(calls.includes("information | At most 8 chats can be open. Close one first."));
});

test("a chat whose turn runs is closed after a question only", async () => {
  const { app, chats } = newApp();
  await openChat(app);
  const [first] = chats.list;
  first!.title("busy");
  Object.defineProperty(first!.session, "isRunning", { value: true });
  await closeChat(app, first!.id);
  assert.equal(chats.list.length, 2);
  assert.ok(calls.includes("warning | A turn is running in “busy”. | Stop and Close"));
  await closeChat(app);
  assert.deepEqual(chats.list, [first]);
});

test("the end of a turn is a notification if the user does not see it", async () => {
  const { app, view, chats } = newApp();
  const ends = (): number => calls.filter((line) => line.startsWith("information | Codex has finished")).length;
  chats.current.title("fix it");
  app.turnCompleted(chats.current);
  assert.equal(ends(), 0, "the chat is in view");
  view.show(false);
  app.turnCompleted(chats.current);
  assert.ok(calls.includes("information | Codex has finished: fix it | Open Chat"));
  view.show(true);
  const hidden = chats.current;
  await openChat(app);
  app.turnCompleted(hidden);
  assert.equal(ends(), 2, "another chat is in view");
  state.settings = { turnNotifications: "never" };
  app.turnCompleted(hidden);
  assert.equal(ends(), 2);
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

test("in a window with several folders each chat has one, which the user chooses", async () => {
  const storage = tempFolder();
  state.folders = ["/appA", "/lib"];
  const { app, view, chats } = newApp(storage);
  const cwd = (): string => (chats.current.session as unknown as { host: { cwd: string } }).host.cwd;
  const warmed: string[] = [];
  app.changes.warm = (folder) => Promise.resolve(void warmed.push(folder));
  const page = (): PageState => view.received.findLast((one) => one.type === "state")!.state;
  assert.deepEqual([chats.current.folder, cwd(), page().folderName], ["/appA", "/appA", "appA"]);
  await newChat(app);
  assert.equal(chats.list.length, 1, "the user chose none");
  state.picks = ["lib"];
  await newChat(app);
  assert.deepEqual([cwd(), page().folder, page().folderName], ["/lib", "/lib", "lib"]);
  assert.deepEqual(page().tabs.map((tab) => tab.title), ["appA: New chat", "lib: New chat"]);
  await app.composing.addFile(Uri.file("/lib/src/b.ts") as never);
  await app.composing.addFile(Uri.file("/appA/a.ts") as never);
  assert.deepEqual(labels(view), ["src/b.ts", "/appA/a.ts"], "a file of another folder has its whole path");

  state.picks = ["appA"];
  await chooseFolder(app);
  assert.deepEqual([chats.list.length, cwd()], [3, "/appA"], "a chat that is in use stays in its folder");
  const { id } = chats.current;
  state.picks = ["lib"];
  await chooseFolder(app);
  assert.deepEqual([chats.list.length, chats.current.id, cwd()], [3, id, "/lib"], "an empty chat moves");
  assert.deepEqual(warmed, ["/appA", "/lib", "/appA", "/lib"], "each has its first snapshot before its first turn");
  assert.deepEqual(newApp(storage).chats.list.map((chat) => chat.folder), ["/appA", "/lib", "/lib"]);
  state.folders = ["/lib"];
  const one = newApp(storage);
  assert.deepEqual(one.chats.list.map((chat) => chat.folder), ["/lib", "/lib"], "a chat whose folder is gone is left out");
  assert.deepEqual(one.app.tabs().map((tab) => tab.title), ["New chat", "New chat"]);
});
