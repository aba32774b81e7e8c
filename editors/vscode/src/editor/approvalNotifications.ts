// Approvals as notifications that do not stand in the way. A question that is dismissed stays in the chat.
import * as vscode from "vscode";
import type { Ask, Choice } from "../core/serverRequest";
import { noticeOf } from "../core/approvalNotification";
import { folder } from "./folder";

export interface Answers {
  answer(id: string, choice: Choice): boolean;
  diff(id: string): void;
  chat(): void;
}

const labels: Record<Choice, string> = { accept: "Accept", acceptForSession: "Accept for Session", decline: "Decline", submit: "Answer" };

export class Notices {
  private readonly told = new Set<string>();

  constructor(private readonly answers: Answers) {}

  /** The questions that wait now; wanted: whether new ones are to be notifications. */
  update(asks: Ask[], wanted: boolean): void {
    for (const id of this.told) {
      if (!asks.some((ask) => ask.id === id)) this.told.delete(id);
    }
    for (const ask of asks) {
      if (!wanted || this.told.has(ask.id)) continue;
      this.told.add(ask.id);
      void this.show(ask);
    }
  }

  private async show(ask: Ask): Promise<void> {
    const { text, choices } = noticeOf(ask, folder() ?? "");
    const more = ask.kind === "patch" ? "Show Diff" : "Open Chat";
    const picked = await vscode.window.showInformationMessage(text, ...choices.map((choice) => labels[choice]), more);
    if (picked === undefined) return;
    if (picked === more) {
      if (ask.kind === "patch") this.answers.diff(ask.id);
      else this.answers.chat();
      // The notification is gone by now, and the answer is still to be given.
      return;
    }
    const choice = choices.find((one) => labels[one] === picked);
    if (choice && !this.answers.answer(ask.id, choice)) {
      void vscode.window.showInformationMessage("That question had its answer, or Codex does not ask it any more.");
    }
  }
}
