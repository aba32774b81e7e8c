// The pending requests of all chats: on cards in the page, as notifications, as diffs and in the status bar.
import * as vscode from "vscode";
import type { Choice } from "../core/choice";
import type { Chat } from "../view/chat";
import type { ShownRequest } from "../view/messages";
import { ApprovalNotifications } from "./approvalNotifications";
import type { Chats } from "./chats";
import { Diffs } from "./diffs";
import { setContext } from "./setContext";
import * as settings from "./settings";
import type { StatusBar } from "./statusBar";

export interface RequestsHost {
  readonly chat: Chat;
  readonly chats: Chats | undefined;
  readonly status: StatusBar;
  showTabs(): void;
}

export class Requests {
  readonly diffs = new Diffs();
  private readonly notifications: ApprovalNotifications;
  /** The id of the last request whose diff was opened, so that it opens once. */
  private openedPatch = "";

  constructor(private readonly host: RequestsHost) {
    this.notifications = new ApprovalNotifications({
      answer: (id, choice) => this.answer(id, choice),
      diff: (id) => void this.showDiff(id),
      chat: () => void host.chat.focus(),
    });
  }

  /** The requests of the shown chat first, those of the others with their name. */
  get shown(): ShownRequest[] {
    const { chats } = this.host;
    return (chats?.requests() ?? []).map(({ chat, request }) => ({ ...request, chat: chat === chats?.current ? "" : chat.name }));
  }

  /** Shows the pending requests. */
  changed(): void {
    const requests = this.shown;
    this.host.chat.send({ type: "requests", requests });
    this.host.showTabs();
    this.host.chat.badge(requests.length);
    this.host.status.waiting(requests.length);
    this.notify();
    setContext("requestPending", requests.length > 0);
    setContext("patchPending", requests.some((request) => request.kind === "patch"));
    void this.diffs.close(requests.map((request) => request.id));
    const newest = requests.at(-1);
    if (newest?.kind === "patch" && newest.id !== this.openedPatch && settings.openDiff()) {
      this.openedPatch = newest.id;
      void this.showDiff(newest.id);
    }
  }

  /** Shows the pending requests as notifications, also those that were in view before the chat was hidden. */
  notify(): void {
    const wanted = settings.notifications();
    this.notifications.update(this.shown, this.host.chats?.current.folder ?? "", wanted === "always" || (wanted === "whenHidden" && !this.host.chat.visible));
  }

  answer(id: string, choice: Choice, values: Record<string, string> = {}): boolean {
    return this.host.chats?.withRequest(id)?.session.answer(id, choice, values) ?? false;
  }

  /**
   * Answers the request of the active diff, else the only pending request. It opens the chat if the request is ambiguous,
   * and does not accept what the user has not in view: a diff shows the patch, but not what leaves the sandbox.
   */
  answerCurrent(choice: Choice, diff?: vscode.Uri): void {
    const requests = this.shown;
    const active = this.diffs.request(diff);
    const request = active === undefined ? (requests.length === 1 ? requests[0] : undefined) : requests.find((r) => r.id === active);
    const inView = request !== undefined && ((active !== undefined && request.leaves === "") || this.isInView(request.id));
    if (request && request.fields.length === 0 && request.choices.includes(choice) && (choice === "decline" || inView)) this.answer(request.id, choice);
    else void this.host.chat.focus();
  }

  private isInView(id: string): boolean {
    return this.host.chat.visible && (this.host.chats?.withRequest(id)?.session.pendingRequests.wasSeen(id) ?? false);
  }

  async showDiff(id?: string): Promise<void> {
    const found = this.host.chats?.requests().find(({ request }) => (id === undefined ? request.kind === "patch" : request.id === id));
    if (found) await this.diffs.show(found.request.id, found.chat.session.pendingRequests.changes(found.request.id), found.chat.folder);
  }
}
