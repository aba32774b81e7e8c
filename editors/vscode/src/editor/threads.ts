// The tree view of the folder's threads.
import * as vscode from "vscode";
import type { Thread } from "../core/protocol";
import * as strings from "../core/strings/bridge";
import { relativeTime, visibleLine } from "../core/text";

/** Why the threads can't be listed. */
interface Failure {
  why: string;
}

export class Threads implements vscode.TreeDataProvider<Thread | Failure> {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  /** The view; it shows the folder if there are several, and whether the threads are archived ones. */
  view: { description?: string } | undefined;
  private archived = false;

  constructor(
    private readonly list: () => Promise<Thread[]>,
    private readonly current: () => string | undefined,
    private readonly folderName: () => string,
    private readonly log: (line: string) => void,
  ) {}

  refresh(): void {
    if (this.view) this.view.description = [this.folderName(), this.archived ? strings.thread.archived : ""].filter(Boolean).join(" · ");
    this.changed.fire(undefined);
  }

  setArchived(archived: boolean): void {
    this.archived = archived;
    this.refresh();
  }

  async getChildren(parent?: Thread | Failure): Promise<(Thread | Failure)[]> {
    if (parent) return [];
    try {
      return await this.list();
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      this.log(`threads: ${why}`);
      return [{ why }];
    }
  }

  getTreeItem(thread: Thread | Failure): vscode.TreeItem {
    if ("why" in thread) return failure(thread.why);
    const label = threadName(thread);
    const item = new vscode.TreeItem(label);
    const open = thread.id === this.current();
    item.id = thread.id;
    item.description = relativeTime(thread.updatedAt * 1000, Date.now());
    item.iconPath = new vscode.ThemeIcon(open ? "comment-discussion" : "comment");
    item.contextValue = this.archived ? "archived" : open ? "current" : "thread";
    item.tooltip = `${label}\n${new Date(thread.updatedAt * 1000).toLocaleString()}\n${thread.id}`;
    item.accessibilityInformation = { label: `${label}, ${item.description}${open ? `, ${strings.thread.current}` : ""}` };
    const command = this.archived ? "unarchive" : "resume";
    item.command = { command: `codexBridge.${command}`, title: strings.thread[command], arguments: [thread] };
    return item;
  }
}

/** The row of an error. Enter opens the settings, which name the programs. */
function failure(why: string): vscode.TreeItem {
  const item = new vscode.TreeItem(strings.thread.cannotList);
  item.description = why;
  item.tooltip = why;
  item.iconPath = new vscode.ThemeIcon("error");
  item.accessibilityInformation = { label: `${strings.thread.cannotList} ${why}` };
  item.command = { command: "codexBridge.settings", title: strings.program.settings };
  return item;
}

export function threadName(thread: Thread): string {
  return visibleLine((thread.name || thread.preview || strings.thread.unnamed).split("\n")[0]!.slice(0, 120));
}
