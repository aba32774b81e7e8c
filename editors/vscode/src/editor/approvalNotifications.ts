// Shows requests as notifications. A dismissed request stays in the chat.
import * as vscode from "vscode";
import type { ServerRequest, Choice } from "../core/serverRequest";
import { toNotification } from "../core/approvalNotification";
import { folder } from "./folder";

export interface Answers {
  answer(id: string, choice: Choice): boolean;
  diff(id: string): void;
  chat(): void;
}

const labels: Record<Choice, string> = { accept: "Accept", acceptForSession: "Accept for Session", decline: "Decline", submit: "Answer" };

export class ApprovalNotifications {
  private readonly shown = new Set<string>();

  constructor(private readonly answers: Answers) {}

  /** Takes the pending requests. enabled: whether new ones become notifications. */
  update(requests: ServerRequest[], enabled: boolean): void {
    for (const id of this.shown) {
      if (!requests.some((request) => request.id === id)) this.shown.delete(id);
    }
    for (const request of requests) {
      if (!enabled || this.shown.has(request.id)) continue;
      this.shown.add(request.id);
      void this.show(request);
    }
  }

  private async show(request: ServerRequest): Promise<void> {
    const { text, choices } = toNotification(request, folder() ?? "");
    const more = request.kind === "patch" ? "Show Diff" : "Open Chat";
    const picked = await vscode.window.showInformationMessage(text, ...choices.map((choice) => labels[choice]), more);
    if (picked === undefined) return;
    if (picked === more) {
      if (request.kind === "patch") this.answers.diff(request.id);
      else this.answers.chat();
      // This closed the notification; the request is still pending.
      return;
    }
    const choice = choices.find((c) => labels[c] === picked);
    if (choice && !this.answers.answer(request.id, choice)) {
      void vscode.window.showInformationMessage("This request is no longer pending.");
    }
  }
}
