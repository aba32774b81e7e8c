// The diffs of a turn: of one file, and of all its files in one editor. The contents of snapshots are virtual documents.
import { join } from "node:path";
import * as vscode from "vscode";
import type { State } from "../core/fileState";
import * as strings from "../core/strings/changes";
import { visibleValue } from "../core/text";
import type { ChangedFile } from "../core/turnRecord";

export const changeScheme = "codex-bridge-change";

export class TurnDiffs implements vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private count = 0;

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.query) ?? "";
  }

  /** Forgets the content of a closed document. */
  closed(uri: vscode.Uri): void {
    if (uri.scheme === changeScheme) this.texts.delete(uri.query);
  }

  async show(folder: string, path: string, left: State, right: State): Promise<void> {
    const sides = [this.document(folder, path, left), this.document(folder, path, right)];
    await vscode.commands.executeCommand("vscode.diff", ...sides, strings.changes.diffTitle(visibleValue(path)), { preview: true });
  }

  /** Shows all files. unchanged: the paths whose file is still as after the turn; their right side is the file itself, to edit. */
  async showAll(folder: string, title: string, files: ChangedFile[], unchanged: ReadonlySet<string>): Promise<void> {
    const resources = files.map(({ path, before, after }) => {
      const file = vscode.Uri.file(join(folder, path));
      const side = (state: State): vscode.Uri | undefined => (state.kind === "absent" ? undefined : this.document(folder, path, state));
      return [file, side(before), unchanged.has(path) ? file : side(after)];
    });
    await vscode.commands.executeCommand("vscode.changes", title, resources);
  }

  private document(folder: string, path: string, state: State): vscode.Uri {
    const key = String(++this.count);
    this.texts.set(key, state.data.toString());
    return vscode.Uri.file(join(folder, path)).with({ scheme: changeScheme, query: key });
  }
}
