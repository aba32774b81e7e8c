// The folders of the window, of which each chat has one, and whether Codex may start in them.
import * as vscode from "vscode";
import * as strings from "../core/strings/bridge";
import type { Blocked } from "../view/messages";

/** Returns the local folders of the window. */
export const folders = (): string[] => localFolders().map((one) => one.uri.fsPath);

const localFolders = (): vscode.WorkspaceFolder[] => (vscode.workspace.workspaceFolders ?? []).filter((one) => one.uri.scheme === "file");

/** Returns the name of a folder if the window has several, else "". */
export function folderName(folder: string): string {
  const all = localFolders();
  return all.length < 2 ? "" : (all.find((one) => one.uri.fsPath === folder)?.name ?? folder);
}

/** Lets the user choose a folder, if there are several. Returns undefined if the user does not. */
export async function pickFolder(): Promise<string | undefined> {
  const items = localFolders().map(({ name, uri }) => ({ label: name, description: uri.fsPath, folder: uri.fsPath }));
  if (items.length < 2) return items[0]?.folder;
  return (await vscode.window.showQuickPick(items, { title: strings.folder.pick, placeHolder: strings.folder.pickHint }))?.folder;
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
  if (folders().length === 0) {
    return { text: strings.folder.none, button: strings.folder.open, command: "workbench.action.files.openFolder" };
  }
  return null;
}
