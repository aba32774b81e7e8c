// The folder of the conversation, and whether Codex may start in it.
import * as vscode from "vscode";
import type { Blocked } from "../view/messages";

/** Returns the first local folder of the workspace. */
export function folder(): string | undefined {
  return vscode.workspace.workspaceFolders?.find((f) => f.uri.scheme === "file")?.uri.fsPath;
}

/** Returns why Codex can't start here, or null if it can. */
export function blocked(): Blocked | null {
  if (!vscode.workspace.isTrusted) {
    return {
      text: "This folder is not trusted. Codex runs commands and changes files, so it does not start here.",
      button: "Manage Workspace Trust",
      command: "workbench.trust.manage",
    };
  }
  if (folder() === undefined) {
    return { text: "Codex works in a folder. Open a folder first.", button: "Open Folder", command: "workbench.action.files.openFolder" };
  }
  return null;
}
