// Search, rename, archive, unarchive and fork threads.
import * as vscode from "vscode";
import { escapeLinks } from "../core/approvalNotification";
import type { Thread } from "../core/protocol";
import * as strings from "../core/strings/bridge";
import { relativeTime, visibleLine } from "../core/text";
import type { App } from "./app";
import { openChat } from "./chatCommands";
import { threadName } from "./threads";

/** Waits for a pause in typing before a search, in milliseconds. */
const pause = 200;

interface Found {
  thread: Thread;
  snippet: string;
}

/** Searches the conversations of the folder while the user types. */
export function searchThreads(app: App): void {
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { thread?: Thread }>();
  pick.title = strings.thread.search;
  pick.placeholder = strings.thread.searchHint;
  let asked = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const search = async (searchTerm: string): Promise<void> => {
    const number = ++asked;
    if (searchTerm === "") return void (pick.items = []);
    pick.busy = true;
    let items: (vscode.QuickPickItem & { thread?: Thread })[];
    try {
      const { data } = await app.call<{ data: Found[] }>("thread/search", { searchTerm, limit: 100 });
      const here = data.filter(({ thread }) => thread.cwd === app.folder);
      // A snippet need not contain the typed words as they are, so that VS Code must not filter.
      items = here.map(({ thread, snippet }) => ({
        label: threadName(thread), description: relativeTime(thread.updatedAt * 1000, Date.now()), detail: visibleLine(snippet).slice(0, 200), alwaysShow: true, thread,
      }));
      if (items.length === 0) items = [{ label: strings.thread.noneFound, alwaysShow: true }];
    } catch (cause) {
      items = [{ label: visibleLine(message(cause)), alwaysShow: true }];
    }
    if (number !== asked) return; // the user typed on
    pick.items = items;
    pick.busy = false;
  };
  pick.onDidChangeValue((value) => {
    clearTimeout(timer);
    timer = setTimeout(() => void search(value.trim()), pause);
  });
  pick.onDidAccept(() => {
    const thread = pick.selectedItems[0]?.thread;
    pick.hide();
    if (thread) void app.resume(thread.id);
  });
  pick.onDidHide(() => {
    clearTimeout(timer);
    pick.dispose();
  });
  pick.show();
}

export async function renameThread(app: App, thread?: Thread): Promise<void> {
  const threadId = thread?.id ?? app.threadId;
  if (threadId === undefined) return;
  const value = thread ? threadName(thread) : app.title;
  const name = await vscode.window.showInputBox({ title: strings.thread.rename, prompt: strings.thread.renamePrompt, value });
  if (name?.trim()) await attempt(app, () => app.callFor(threadId, "thread/name/set", { threadId, name: name.trim() }));
}

/** Archives a thread. A chat that shows it gets a new thread. */
export async function archiveThread(app: App, thread?: Thread): Promise<void> {
  const threadId = thread?.id ?? app.threadId;
  if (threadId === undefined) return;
  const name = thread ? threadName(thread) : app.title;
  await attempt(app, async () => {
    await app.leave(threadId);
    await app.callFor(threadId, "thread/archive", { threadId });
    void offerUnarchive(app, threadId, name);
  });
}

async function offerUnarchive(app: App, threadId: string, name: string): Promise<void> {
  const picked = await vscode.window.showInformationMessage(escapeLinks(strings.thread.isArchived(visibleLine(name))), strings.thread.unarchive);
  if (picked) await unarchiveThread(app, { id: threadId });
}

export async function unarchiveThread(app: App, thread: Pick<Thread, "id">): Promise<void> {
  await attempt(app, () => app.callFor(thread.id, "thread/unarchive", { threadId: thread.id }));
}

/** Copies a thread into a new one, in a chat of its own. */
export async function forkThread(app: App, thread?: Thread): Promise<void> {
  const threadId = thread?.id ?? app.threadId;
  if (threadId !== undefined) await openChat(app, { key: "", threadId, isFork: true });
}

async function attempt(app: App, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (cause) {
    void vscode.window.showErrorMessage(escapeLinks(strings.thread.failed(visibleLine(message(cause)))));
  }
  app.threadTree.refresh();
}

const message = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
