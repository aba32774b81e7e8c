// The pending requests of all chats: on cards in the page, as notifications, as diffs and in the status bar.
import * as vscode from "vscode";
import { escapeLinks } from "../core/approvalNotification";
import type { Choice } from "../core/choice";
import { whyNotEditable } from "../core/patchEdit";
import type { ServerRequest } from "../core/serverRequest";
import { visibleLine } from "../core/text";
import type { Chat } from "../view/chat";
import type { ShownRequest } from "../view/messages";
import { ApprovalNotifications } from "./approvalNotifications";
import type { Chats, OpenChat } from "./chats";
import { Diffs } from "./diffs";
import { PatchEdits, rootsOf } from "./patchEdits";
import * as strings from "../core/strings/requests";
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
  readonly edits = new PatchEdits();
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
    return (chats?.requests() ?? []).map(({ chat, request }) => ({ ...request, chat: chat === chats?.current ? "" : chat.name, ...this.editOf(chat, request) }));
  }

  private editOf(chat: OpenChat, request: ServerRequest): Pick<ShownRequest, "edit" | "whyNoEdit"> {
    if (request.kind !== "patch") return { edit: "none", whyNoEdit: "" };
    if (this.edits.has(request.id)) return { edit: "open", whyNoEdit: "" };
    const whyNoEdit = whyNotEditable(request, chat.session.pendingRequests.changes(request.id), rootsOf(chat.folder));
    return { edit: whyNoEdit === "" ? "offered" : "none", whyNoEdit };
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
    const ids = requests.map((request) => request.id);
    void this.diffs.close(ids);
    void this.edits.close(ids);
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

  /** Answers a request. An accept of a patch that the user edits accepts the user's version. */
  answer(id: string, choice: Choice, values: Record<string, string> = {}): boolean {
    const session = this.host.chats?.withRequest(id)?.session;
    if (!session) return false;
    if (!this.edits.has(id) || choice === "decline") return session.answer(id, choice, values);
    void this.explain(this.edits.accept(session, id, choice));
    return true;
  }

  /** Lets the user edit a patch before it is accepted. */
  async edit(id?: string): Promise<void> {
    const wanted = this.shown.find((request) => request.edit !== "none" && (id === undefined || request.id === id));
    const chat = wanted && this.host.chats?.withRequest(wanted.id);
    if (!chat) return void vscode.window.showInformationMessage(strings.edit.nothing);
    await this.explain(this.edits.open(wanted.id, chat.session.pendingRequests.changes(wanted.id), chat.folder));
    if (this.edits.has(wanted.id)) void this.diffs.close(this.shown.map((one) => one.id).filter((one) => one !== wanted.id));
    this.changed();
  }

  async discardEdit(id = this.edits.request()): Promise<void> {
    if (id !== undefined) await this.edits.discard(id);
    this.changed();
  }

  /** Shows why something did not work. */
  private async explain(work: Promise<void>): Promise<void> {
    await work.catch((cause: Error) => void vscode.window.showWarningMessage(escapeLinks(visibleLine(cause.message))));
  }

  /**
   * Answers the request of the active diff, else the only pending request. It opens the chat if the request is ambiguous,
   * and does not accept what the user has not in view: a diff shows the patch, but not what leaves the sandbox.
   */
  answerCurrent(choice: Choice, diff?: vscode.Uri): void {
    const requests = this.shown;
    const active = this.edits.request(diff) ?? this.diffs.request(diff);
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
