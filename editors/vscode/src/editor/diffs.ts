// Shows patches in the diff editor. Both sides are virtual documents, so that nothing is written before you accept.
import * as path from "node:path";
import * as vscode from "vscode";
import { toDiffSides, type DiffSides } from "../core/patch";
import type { Change } from "../core/protocol";
import * as strings from "../core/strings/requests";

export const scheme = "codex-bridge-patch";

/** Returns the documents on the right side of a tab's diffs. */
export function modifiedIn(input: unknown): vscode.Uri[] {
  if (input instanceof vscode.TabInputTextDiff) return [input.modified];
  // This version of the API has no type for a tab with several diffs.
  return ((input as { textDiffs?: { modified: vscode.Uri }[] } | undefined)?.textDiffs ?? []).map((one) => one.modified);
}

export class Diffs implements vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private readonly shown = new Map<string, string[]>(); // request → keys of its documents
  private count = 0;

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.query) ?? "";
  }

  /** cwd: the folder that relative paths belong to. */
  async show(request: string, changes: Change[], cwd: string): Promise<void> {
    if (changes.length === 0) {
      void vscode.window.showInformationMessage(strings.request.noContent);
      return;
    }
    const pairs = await Promise.all(changes.map(async (change) => this.pair(request, cwd, await this.compare(change, cwd))));
    const [only] = pairs;
    if (pairs.length === 1 && only) {
      await vscode.commands.executeCommand("vscode.diff", only.left, only.right, only.title, { preview: true, preserveFocus: true });
    } else {
      await vscode.commands.executeCommand("vscode.changes", strings.diff.files(pairs.length), pairs.map((p) => [p.right, p.left, p.right]));
    }
  }

  /** Returns the request of a diff, by default of the active one. */
  request(diff?: vscode.Uri): string | undefined {
    const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    const uri = diff?.scheme === scheme ? diff : input instanceof vscode.TabInputTextDiff ? input.modified : undefined;
    if (uri?.scheme !== scheme) return undefined;
    return [...this.shown].find(([, keys]) => keys.includes(uri.query))?.[0];
  }

  /** Closes the diffs of all requests that are no longer pending. */
  async close(requests: string[]): Promise<void> {
    for (const [request, keys] of this.shown) {
      if (requests.includes(request)) continue;
      this.shown.delete(request);
      for (const key of keys) this.texts.delete(key);
      const ours = (uri: vscode.Uri): boolean => uri.scheme === scheme && keys.includes(uri.query);
      const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter(({ input }) => modifiedIn(input).some(ours));
      await vscode.window.tabGroups.close(tabs, true);
    }
  }

  private async compare(change: Change, cwd: string): Promise<DiffSides> {
    const file = vscode.Uri.file(path.resolve(cwd, change.path));
    let current = "";
    try {
      current = new TextDecoder().decode(await vscode.workspace.fs.readFile(file));
    } catch {
      // A file that does not exist yet is empty.
    }
    return toDiffSides(change, current);
  }

  private pair(request: string, cwd: string, s: DiffSides): { left: vscode.Uri; right: vscode.Uri; title: string } {
    const shown = vscode.workspace.asRelativePath(s.path);
    const moved = s.moved ? ` → ${vscode.workspace.asRelativePath(s.moved)}` : "";
    const note = s.doesNotApply ? strings.diff.doesNotApply : s.after === "" ? strings.diff.deleted : "";
    return {
      left: this.document(request, path.resolve(cwd, s.path), s.before),
      right: this.document(request, path.resolve(cwd, s.moved ?? s.path), s.after),
      title: strings.diff.proposes(shown, moved, note),
    };
  }

  private document(request: string, file: string, text: string): vscode.Uri {
    const key = String(++this.count);
    this.texts.set(key, text);
    this.shown.set(request, [...(this.shown.get(request) ?? []), key]);
    return vscode.Uri.file(file).with({ scheme, query: key });
  }
}
