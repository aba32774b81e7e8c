// The page of the chat: its state, and what it asks for.
import * as vscode from "vscode";
import { parseOrigin } from "../core/policy";
import { noInfo } from "../core/threadInfo";
import type { FromPage, PageState } from "../view/messages";
import type { TurnChanges } from "./changes";
import { type ChatsHost, chooseFolder, closeChat, newChat, selectChat } from "./chatCommands";
import type { Composing } from "./composing";
import { blocked, folderName } from "./folder";
import { openPlace, openSettings } from "./policyCommands";
import type { Requests } from "./requests";

/** The part of the app that the page uses. */
export interface PageHost extends ChatsHost {
  readonly requests: Requests;
  readonly composing: Composing;
  readonly changes: TurnChanges;
  readonly output: vscode.LogOutputChannel;
  readonly folder: string;
  readonly title: string;
  tabs(): PageState["tabs"];
  send(text: string): Promise<boolean>;
  stop(): void;
}

export function pageState(app: PageHost): PageState {
  const chat = app.current;
  return {
    chat: chat?.id ?? "",
    tabs: app.tabs(),
    entries: chat?.session.entries() ?? [],
    requests: app.requests.shown,
    chips: chat?.attachments.chips() ?? [],
    info: chat?.session.info ?? noInfo,
    chosen: chat?.chosen ?? {},
    since: chat?.since ?? 0,
    title: app.title,
    draft: chat?.draft ?? "",
    folder: app.folder,
    folderName: folderName(app.folder),
    blocked: blocked(),
  };
}

export function handleMessage(app: PageHost, message: FromPage): void {
  switch (message.type) {
    case "ready":
      return;
    case "send":
      void app.send(message.text).then((ok) => app.chat.send({ type: "sent", text: message.text, ok }));
      return;
    case "draft":
      app.chats?.keepDraft(message.id, message.text);
      return;
    case "stop":
      app.stop();
      return;
    case "answer":
      app.requests.answer(message.id, message.choice, message.values);
      return;
    case "diff":
      void app.requests.showDiff(message.id);
      return;
    case "edit":
      void app.requests.edit(message.id);
      return;
    case "discardEdit":
      void app.requests.discardEdit(message.id);
      return;
    case "openPolicy":
      void openPolicy(app, message.id, message.index);
      return;
    case "change":
      void app.changes.act(message.id, message.index, message.action, message.hunk);
      return;
    case "notice":
      void runNotice(app, message.id, message.index);
      return;
    case "seen":
      if (app.chat.visible) for (const chat of app.chats?.list ?? []) chat.session.pendingRequests.markSeen(message.ids);
      return;
    case "command":
      void vscode.commands.executeCommand(`codexBridge.${message.name}`, ...(message.rest ? [message.rest] : []));
      return;
    case "chooseFolder":
      void chooseFolder(app);
      return;
    case "newChat":
      void newChat(app);
      return;
    case "tab": {
      const chat = app.chats?.list.find((one) => one.id === message.id);
      if (message.action === "close") void closeChat(app, message.id);
      else if (chat) void selectChat(app, chat);
      return;
    }
    case "open":
      void vscode.env.openExternal(vscode.Uri.parse(message.href, true));
      return;
    case "unblock": {
      const why = blocked();
      if (why) void vscode.commands.executeCommand(why.command);
      return;
    }
    default:
      app.composing.handle(message);
  }
}

/** Opens the file of a decision on a card. The page names the card, not the file. */
async function openPolicy(app: PageHost, id: string, index: number): Promise<void> {
  const entry = app.current?.session.entries().find((one) => one.id === id);
  const place = entry?.kind === "policy" ? parseOrigin(entry.decisions[index]?.where ?? "") : undefined;
  if (place) await openPlace(place);
}

async function runNotice(app: PageHost, id: string, index: number): Promise<void> {
  const entry = app.current?.session.entries().find((one) => one.id === id);
  const action = entry?.kind === "notice" ? entry.actions?.[index] : undefined;
  if (action === "settings") await openSettings();
  else if (action === "log") app.output.show();
  else if (action === "restart") await app.current?.session.recover().then(() => app.chat.focus());
  else if (action) await openPlace(action);
}
