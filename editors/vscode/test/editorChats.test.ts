// Several chats in the editor, and their folders.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { chooseFolder, closeChat, newChat, openChat } from "../src/editor/chatCommands";
import type { Chats } from "../src/editor/chats";
import type { PageState } from "../src/view/messages";
import { labels, newApp, resetWindow, run } from "./fakeApp";
import { calls, state, Uri } from "./fakeVscode";
import { tempFolder } from "./tempFolder";

beforeEach(resetWindow);

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
