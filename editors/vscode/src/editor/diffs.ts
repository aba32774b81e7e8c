// Patches in the diff editor: both sides are documents that are not on disk, so that nothing is written before it is accepted.
import * as path from "node:path";
import * as vscode from "vscode";
import { sides, type Sides } from "../core/patch";
import type { Change } from "../core/protocol";

export const scheme = "codex-bridge-patch";

export class Diffs implements vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private readonly shown = new Map<string, string[]>(); // ask → keys of its documents
  private count = 0;

  constructor(private readonly cwd: string) {}

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.query) ?? "";
  }

  async show(ask: string, changes: Change[]): Promise<void> {
    if (changes.length === 0) {
      void vscode.window.showInformationMessage("Codex has not said what the patch changes.");
      return;
    }
    const pairs = await Promise.all(changes.map(async (change) => this.pair(ask, await this.compare(change))));
    const [only] = pairs;
    if (pairs.length === 1 && only) {
      await vscode.commands.executeCommand("vscode.diff", only.left, only.right, only.title, { preview: true, preserveFocus: true });
    } else {
      await vscode.commands.executeCommand("vscode.changes", `Codex: ${pairs.length} files`, pairs.map((p) => [p.right, p.left, p.right]));
    }
  }

  /** The question that a diff belongs to: this one, else the one in front. */
  ask(diff?: vscode.Uri): string | undefined {
    const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    const uri = diff?.scheme === scheme ? diff : input instanceof vscode.TabInputTextDiff ? input.modified : undefined;
    if (uri?.scheme !== scheme) return undefined;
    return [...this.shown].find(([, keys]) => keys.includes(uri.query))?.[0];
  }

  /** Closes what show opened for a question that has its answer. */
  async close(asks: string[]): Promise<void> {
    for (const [ask, keys] of this.shown) {
      if (asks.includes(ask)) continue;
      this.shown.delete(ask);
      for (const key of keys) this.texts.delete(key);
      const ours = (uri: vscode.Uri): boolean => uri.scheme === scheme && keys.includes(uri.query);
      const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter(({ input }) => {
        if (input instanceof vscode.TabInputTextDiff) return ours(input.modified);
        // A tab of several diffs has no type in this version of the API.
        const several = (input as { textDiffs?: { modified: vscode.Uri }[] } | undefined)?.textDiffs;
        return several?.some((d) => ours(d.modified)) ?? false;
      });
      await vscode.window.tabGroups.close(tabs, true);
    }
  }

  private async compare(change: Change): Promise<Sides> {
    const file = vscode.Uri.file(path.resolve(this.cwd, change.path));
    let current = "";
    try {
      current = new TextDecoder().decode(await vscode.workspace.fs.readFile(file));
    } catch {
      // A file that is not there yet is empty.
    }
    return sides(change, current);
  }

  private pair(ask: string, s: Sides): { left: vscode.Uri; right: vscode.Uri; title: string } {
    const shown = vscode.workspace.asRelativePath(s.path);
    const moved = s.moved ? ` → ${vscode.workspace.asRelativePath(s.moved)}` : "";
    const note = s.unclear ? ", does not fit the file as it is: the change itself" : s.after === "" ? ", deleted" : "";
    return {
      left: this.document(ask, s.path, s.before),
      right: this.document(ask, s.moved ?? s.path, s.after),
      title: `${shown}${moved} (Codex proposes${note})`,
    };
  }

  private document(ask: string, file: string, text: string): vscode.Uri {
    const key = String(++this.count);
    this.texts.set(key, text);
    this.shown.set(ask, [...(this.shown.get(ask) ?? []), key]);
    return vscode.Uri.file(path.resolve(this.cwd, file)).with({ scheme, query: key });
  }
}
