// The folder of the conversation, and whether Codex may start in it.
import * as vscode from "vscode";
import * as strings from "../core/strings";
import type { Blocked } from "../view/messages";

/** Returns the first local folder of the workspace. */
export function folder(): string | undefined {
  return vscode.workspace.workspaceFolders?.find((f) => f.uri.scheme === "file")?.uri.fsPath;
}

/** Returns why Codex can't start here, or null if it can. */
export function blocked(): Blocked | null {
  if (!vscode.workspace.isTrusted) {
    return {
      text: strings.folder.untrusted,
      button: strings.folder.trust,
      command: "workbench.trust.manage",
    };
  }
  if (folder() === undefined) {
    return { text: strings.folder.none, button: strings.folder.open, command: "workbench.action.files.openFolder" };
  }
  return null;
}
