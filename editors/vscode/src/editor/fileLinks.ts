// Opens the files that an answer or the output of a tool names. A name from the model is untrusted: it opens nothing but
// an existing file, and no name with invisible characters.
import { realpathSync, statSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import * as chatStrings from "../core/strings/chat";
import * as requestStrings from "../core/strings/requests";
import { visibleValue } from "../core/text";
import { folders } from "./folder";

const isFile = (file: string): boolean => {
  try {
    return statSync(file).isFile();
  } catch {
    return false;
  }
};

const isBelow = (root: string, file: string): boolean => {
  const relative = path.relative(root, file);
  return relative !== "" && !path.isAbsolute(relative) && relative.split(path.sep)[0] !== "..";
};

/** Returns the file of a name; undefined if there is none. A relative name stays in its folder, also over links; first is tried first. */
export function resolveFile(name: string, first: string): string | undefined {
  if (name.length > 512 || visibleValue(name) !== name || /^[\\/]{2}/.test(name)) return undefined; // no network paths
  if (path.isAbsolute(name)) return isFile(name) ? path.normalize(name) : undefined;
  for (const root of [first, ...folders()]) {
    const file = path.resolve(root, name);
    if (isBelow(root, file) && isFile(file) && isBelow(realpathSync(root), realpathSync(file))) return file;
  }
  return undefined;
}

export async function openFile(name: string, line: number, column: number, first: string): Promise<void> {
  const file = resolveFile(name, first);
  if (file === undefined) {
    void vscode.window.showInformationMessage(chatStrings.link.missing(visibleValue(name)));
    return;
  }
  const at = new vscode.Position(Math.max(0, line - 1), Math.max(0, column - 1));
  try {
    await vscode.window.showTextDocument(vscode.Uri.file(file), line > 0 ? { selection: new vscode.Range(at, at) } : {});
  } catch (cause) {
    void vscode.window.showErrorMessage(requestStrings.policy.cannotOpen(file, cause instanceof Error ? cause.message : String(cause)));
  }
}
