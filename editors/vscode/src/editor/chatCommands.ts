// Opens, closes and switches chats.
import * as vscode from "vscode";
import { escapeLinks } from "../core/approvalNotification";
import type { Conversation } from "../core/sessionHost";
import * as strings from "../core/strings/chat";
import { visibleLine } from "../core/text";
import type { Chat } from "../view/chat";
import type { Chats, OpenChat } from "./chats";
import { folderName, pickFolder } from "./folder";
import type { Threads } from "./threads";

/** The part of the app that these commands use. */
export interface ChatsHost {
  readonly chats: Chats | undefined;
  readonly current: OpenChat | undefined;
  readonly chat: Chat;
  readonly threadTree: Threads;
  /** Continues the conversation of the chat that is shown, and takes the first snapshot of its folder. */
  shown(): Promise<void>;
  requestsChanged(): void;
}

/** Opens another chat with a new thread, in a folder that the user chooses, and shows it. */
export async function newChat(app: ChatsHost): Promise<void> {
  const folder = await pickFolder();
  if (folder !== undefined) await openChat(app, undefined, folder);
}

/** Opens another chat, by default with a new thread in the same folder, and shows it. */
export async function openChat(app: ChatsHost, conversation?: Conversation, folder?: string): Promise<void> {
  try {
    app.chats?.add(conversation, folder);
  } catch (cause) {
    void vscode.window.showInformationMessage((cause as Error).message);
    return;
  }
  app.threadTree.refresh();
  await app.chat.focus();
  await app.shown();
}

/** Lets the user choose the folder of the chat. A thread stays in its folder: then another chat opens. */
export async function chooseFolder(app: ChatsHost): Promise<void> {
  const folder = await pickFolder();
  const chat = app.current;
  if (folder !== undefined && chat && folder !== chat.folder) {
    if (!chat.isEmpty) return openChat(app, undefined, folder);
    await app.chats?.move(chat, folder);
    app.threadTree.refresh();
  }
  await app.chat.focus();
  await app.shown();
}

export async function closeChat(app: ChatsHost, id?: string): Promise<void> {
  const chat = id === undefined ? app.current : app.chats?.list.find((one) => one.id === id);
  if (!chat) return;
  if (chat.session.isRunning) {
    const question = escapeLinks(strings.chats.running(visibleLine(chat.name)));
    if (!(await vscode.window.showWarningMessage(question, strings.chats.stopAndClose))) return;
  }
  await app.chats?.close(chat);
  app.requestsChanged();
  app.threadTree.refresh();
  await app.chat.focus();
}

export async function selectChat(app: ChatsHost, chat: OpenChat): Promise<void> {
  app.chats?.select(chat);
  app.requestsChanged();
  app.threadTree.refresh();
  await app.chat.focus();
  await app.shown();
}

export async function pickChat(app: ChatsHost): Promise<void> {
  const items = (app.chats?.list ?? []).map((chat) => ({ label: chat.name, description: [folderName(chat.folder), strings.chats.state[chat.tab.state]].filter(Boolean).join(" · "), chat }));
  const picked = await vscode.window.showQuickPick(items, { title: strings.chats.pick });
  if (picked) await selectChat(app, picked.chat);
}
