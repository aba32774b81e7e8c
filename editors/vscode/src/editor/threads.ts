// The tree view of the folder's threads.
import * as vscode from "vscode";
import type { Thread } from "../core/protocol";
import { relativeTime } from "../core/text";

export class Threads implements vscode.TreeDataProvider<Thread> {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private last: Thread[] = [];

  constructor(
    private readonly list: () => Promise<Thread[]>,
    private readonly current: () => string | undefined,
    private readonly log: (line: string) => void,
  ) {}

  refresh(): void {
    this.changed.fire(undefined);
  }

  async getChildren(parent?: Thread): Promise<Thread[]> {
    if (parent) return [];
    try {
      this.last = await this.list();
    } catch (cause) {
      this.log(`threads: ${cause instanceof Error ? cause.message : String(cause)}`);
    }
    return this.last;
  }

  getTreeItem(thread: Thread): vscode.TreeItem {
    const label = threadName(thread);
    const item = new vscode.TreeItem(label);
    const open = thread.id === this.current();
    item.id = thread.id;
    item.description = relativeTime(thread.updatedAt * 1000, Date.now());
    item.iconPath = new vscode.ThemeIcon(open ? "comment-discussion" : "comment");
    item.contextValue = open ? "current" : "thread";
    item.tooltip = `${label}\n${new Date(thread.updatedAt * 1000).toLocaleString()}\n${thread.id}`;
    item.accessibilityInformation = { label: `${label}, ${item.description}${open ? ", open in the chat" : ""}` };
    item.command = { command: "codexBridge.resume", title: "Resume", arguments: [thread] };
    return item;
  }
}

export function threadName(thread: Thread): string {
  return (thread.name || thread.preview || "(no messages)").split("\n")[0]!.slice(0, 120);
}
