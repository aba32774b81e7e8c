// Opens Codex's version of a patch for the user to edit before it is accepted: a diff whose right side can be edited. Its
// documents are in memory.
import { realpathSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import type { Choice } from "../core/choice";
import { acceptEdited, readProposal, type EditedFile } from "../core/patchEdit";
import type { Change } from "../core/protocol";
import type { Session } from "../core/session";
import * as strings from "../core/strings/requests";
import { visibleValue } from "../core/text";
import { modifiedIn } from "./diffs";
import { EditorFiles } from "./editorFiles";

export const editScheme = "codex-bridge-edit";

interface Document {
  data: Uint8Array;
  mtime: number;
  readonly: boolean;
}

interface Edit {
  folder: string;
  files: EditedFile[];
  sides: { left: vscode.Uri; right: vscode.Uri }[];
  /** The user's version is being written. */
  isAccepting: boolean;
}

/** Returns the names of a folder: its real path, and the path by which it was opened. */
export function rootsOf(folder: string): string[] {
  try {
    return [realpathSync(folder), folder];
  } catch {
    return [folder];
  }
}

export class PatchEdits implements vscode.FileSystemProvider {
  private readonly documents = new Map<string, Document>();
  private readonly edits = new Map<string, Edit>(); // by request
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event;
  private count = 0;

  has(request: string): boolean {
    return this.edits.has(request);
  }

  /** Returns the request of an edit, by default of the active one. */
  request(diff?: vscode.Uri): string | undefined {
    const { activeTab } = vscode.window.tabGroups.activeTabGroup;
    const uris = diff ? [diff] : modifiedIn(activeTab?.input);
    return [...this.edits].find(([, { sides }]) => sides.some(({ right }) => uris.some((uri) => isSameUri(uri, right))))?.[0];
  }

  /** Opens the edit of a request. Throws if its texts can't be edited. */
  async open(request: string, changes: Change[], folder: string): Promise<void> {
    const edit = this.edits.get(request) ?? (await this.create(changes, folder));
    this.edits.set(request, edit);
    const named = edit.files.map((file, i) => ({ ...edit.sides[i]!, title: strings.edit.title(visibleValue(file.path)) }));
    const [first] = named;
    if (named.length === 1 && first) await vscode.commands.executeCommand("vscode.diff", first.left, first.right, first.title, { preview: false });
    else await vscode.commands.executeCommand("vscode.changes", strings.edit.files(named.length), named.map(({ left, right }) => [right, left, right]));
  }

  private async create(changes: Change[], folder: string): Promise<Edit> {
    const files = await readProposal(filesOf(folder), changes, rootsOf(folder));
    const sides = files.map(({ path, seen, proposal }) => ({
      left: this.document(join(folder, path), seen.data, true),
      right: this.document(join(folder, path), Buffer.from(proposal), false),
    }));
    return { folder, files, sides, isAccepting: false };
  }

  private document(path: string, data: Uint8Array, readonly: boolean): vscode.Uri {
    const uri = vscode.Uri.file(path).with({ scheme: editScheme, authority: String(++this.count) });
    this.documents.set(uri.toString(), { data, mtime: Date.now(), readonly });
    return uri;
  }

  /** Accepts the user's version. Throws, and leaves the edit open, if that fails. */
  async accept(session: Session, request: string, choice: Choice): Promise<void> {
    const edit = this.edits.get(request);
    if (!edit || edit.isAccepting) return;
    edit.isAccepting = true;
    try {
      await acceptEdited(session, request, choice, edited(edit, this.documents), filesOf(edit.folder));
      this.edits.delete(request);
      await this.closeTabs(edit);
    } catch (cause) {
      const isPending = session.pendingRequests.list().some((one) => one.id === request);
      if (!isPending) this.edits.delete(request); // the error says so
      throw cause;
    } finally {
      edit.isAccepting = false;
    }
  }

  /** Closes an edit without its texts. The request stays pending. */
  async discard(request: string): Promise<void> {
    const edit = this.edits.get(request);
    this.edits.delete(request);
    if (edit) await this.closeTabs(edit);
  }

  /** Ends the edits of requests that are no longer pending. A text that the user changed stays open, with a message. */
  async close(requests: string[]): Promise<void> {
    for (const [request, edit] of this.edits) {
      if (requests.includes(request) || edit.isAccepting) continue;
      this.edits.delete(request);
      if (edited(edit, this.documents).every(({ text, proposal }) => text === proposal)) await this.closeTabs(edit);
      else void vscode.window.showWarningMessage(strings.edit.notPending);
    }
  }

  private async closeTabs({ sides }: Edit): Promise<void> {
    const ours = sides.map(({ right }) => right);
    // A changed document would ask.
    for (const document of vscode.workspace.textDocuments) if (document.isDirty && ours.some((uri) => isSameUri(uri, document.uri))) await document.save();
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter(({ input }) => modifiedIn(input).some((uri) => ours.some((one) => isSameUri(one, uri))));
    await vscode.window.tabGroups.close(tabs, true);
    for (const { left, right } of sides) for (const uri of [left, right]) this.documents.delete(uri.toString());
  }

  // FileSystemProvider

  private find(uri: vscode.Uri): Document {
    const document = this.documents.get(uri.toString());
    if (!document) throw vscode.FileSystemError.FileNotFound(uri);
    return document;
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const { data, mtime, readonly } = this.find(uri);
    return { type: vscode.FileType.File, ctime: 0, mtime, size: data.length, ...(readonly && { permissions: vscode.FilePermission.Readonly }) };
  }

  readFile(uri: vscode.Uri): Uint8Array {
    return this.find(uri).data;
  }

  writeFile(uri: vscode.Uri, data: Uint8Array): void {
    Object.assign(this.find(uri), { data, mtime: Date.now() });
  }

  watch(): vscode.Disposable {
    return { dispose: () => undefined };
  }

  readDirectory(): [] {
    return [];
  }

  createDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }
}

const isSameUri = (a: vscode.Uri, b: vscode.Uri): boolean => a.toString() === b.toString();

function filesOf(folder: string): EditorFiles {
  return new EditorFiles(rootsOf(folder)[0]!, folder);
}

/** Returns the files with the texts of their editors, saved or not. */
function edited({ files, sides }: Edit, saved: Map<string, Document>): EditedFile[] {
  return files.map((file, i) => {
    const { right } = sides[i]!;
    const open = vscode.workspace.textDocuments.find((one) => isSameUri(one.uri, right));
    return { ...file, text: open?.getText() ?? Buffer.from(saved.get(right.toString())?.data ?? []).toString() };
  });
}
