// Which folder Codex works in, and whether it may.
import * as vscode from "vscode";
import type { Blocked } from "../view/messages";

/** The first folder of the workspace that is on a disk. */
export function folder(): string | undefined {
  return vscode.workspace.workspaceFolders?.find((f) => f.uri.scheme === "file")?.uri.fsPath;
}

/** Why nothing may be started here; null when it may. */
export function blocked(): Blocked | null {
  if (!vscode.workspace.isTrusted) {
    return {
      text: "This folder is not trusted. Codex runs commands and changes files, so neither the bridge nor codex is started here.",
      button: "Manage Workspace Trust",
      command: "workbench.trust.manage",
    };
  }
  if (folder() === undefined) {
    return { text: "Codex works in a folder, and none is open.", button: "Open Folder", command: "workbench.action.files.openFolder" };
  }
  return null;
}
