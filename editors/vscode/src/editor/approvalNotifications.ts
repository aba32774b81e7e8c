// Shows requests as notifications. A dismissed request stays in the chat.
import * as vscode from "vscode";
import type { Choice } from "../core/choice";
import type { ServerRequest } from "../core/serverRequest";
import { toNotification } from "../core/approvalNotification";
import * as strings from "../core/strings/requests";

export interface Answers {
  answer(id: string, choice: Choice): boolean;
  diff(id: string): void;
  chat(): void;
}

export class ApprovalNotifications {
  private readonly shown = new Set<string>();

  constructor(private readonly answers: Answers) {}

  /** Takes the pending requests. folder: paths in it are relative. enabled: whether those without a notification get one. */
  update(requests: ServerRequest[], folder: string, enabled: boolean): void {
    for (const id of this.shown) {
      if (!requests.some((request) => request.id === id)) this.shown.delete(id);
    }
    for (const request of requests) {
      if (!enabled || this.shown.has(request.id)) continue;
      this.shown.add(request.id);
      void this.show(request, folder);
    }
  }

  private async show(request: ServerRequest, folder: string): Promise<void> {
    const { text, choices } = toNotification(request, folder);
    const label = (choice: Choice): string => strings.choice(choice, request.keptMs);
    const more = request.kind === "patch" && request.leaves === "" ? strings.request.showDiff : strings.notification.openChat;
    const show = request.leaves === "" ? vscode.window.showInformationMessage : vscode.window.showWarningMessage;
    const picked = await show(text, ...choices.map(label), more);
    if (picked === undefined) return;
    if (picked === more) {
      if (more === strings.request.showDiff) this.answers.diff(request.id);
      else this.answers.chat();
      // This closed the notification; the request is still pending.
      return;
    }
    const choice = choices.find((c) => label(c) === picked);
    if (choice && !this.answers.answer(request.id, choice)) {
      void vscode.window.showInformationMessage(strings.request.notPending);
    }
  }
}
