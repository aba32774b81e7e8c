// Opens, closes and switches chats.
import * as vscode from "vscode";
import { escapeLinks } from "../core/approvalNotification";
import type { Conversation } from "../core/sessionHost";
import * as strings from "../core/strings";
import { visibleValue } from "../core/text";
import type { App } from "./app";
import type { OpenChat } from "./chats";

/** Opens another chat, by default with a new thread, and shows it. */
export async function openChat(app: App, conversation?: Conversation): Promise<void> {
  try {
    app.chats?.add(conversation);
  } catch (cause) {
    void vscode.window.showInformationMessage((cause as Error).message);
    return;
  }
  await app.chat.focus();
  if (conversation) await app.shown();
  app.threadTree.refresh();
}

export async function closeChat(app: App, id?: string): Promise<void> {
  const chat = id === undefined ? app.current : app.chats?.list.find((one) => one.id === id);
  if (!chat) return;
  if (chat.session.isRunning) {
    const question = escapeLinks(strings.chats.running(visibleValue(chat.name)));
    if (!(await vscode.window.showWarningMessage(question, strings.chats.stopAndClose))) return;
  }
  await app.chats?.close(chat);
  app.requestsChanged();
  app.threadTree.refresh();
  await app.chat.focus();
}

export async function selectChat(app: App, chat: OpenChat): Promise<void> {
  app.chats?.select(chat);
  app.requestsChanged();
  app.threadTree.refresh();
  await app.chat.focus();
  await app.shown();
}

export async function pickChat(app: App): Promise<void> {
  const items = (app.chats?.list ?? []).map((chat) => ({ label: chat.name, description: strings.chats.state[chat.tab.state], chat }));
  const picked = await vscode.window.showQuickPick(items, { title: strings.chats.pick });
  if (picked) await selectChat(app, picked.chat);
}
