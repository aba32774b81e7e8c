// The files of a folder as the user sees them: an unsaved text in an editor counts, and is changed in its editor. A
// saved file is written on the disk; VS Code then loads it, with a step of its own undo. A save would run formatters.
import { join } from "node:path";
import * as vscode from "vscode";
import { DiskFiles, isSame, type Files, type State } from "../core/fileState";
import * as strings from "../core/strings/changes";

const bom = "\uFEFF";

export class EditorFiles implements Files {
  private readonly disk: DiskFiles;

  /** root: the real path of folder. */
  constructor(private readonly root: string, private readonly folder = root) {
    this.disk = new DiskFiles(root);
  }

  async read(path: string): Promise<State> {
    const disk = await this.disk.read(path);
    const document = this.unsaved(path);
    if (!document || (disk.kind !== "file" && disk.kind !== "absent")) return disk;
    const text = disk.data.toString();
    if (!Buffer.from(text).equals(disk.data)) return { ...disk, kind: "special" }; // not UTF-8: the bytes of the editor are not known
    return { ...disk, kind: "file", data: Buffer.from((text.startsWith(bom) ? bom : "") + document.getText()), unsaved: true };
  }

  async write(path: string, seen: State, target: State, keeps: ReadonlySet<string>): Promise<void> {
    const document = this.unsaved(path);
    if (!document && !seen.unsaved) return this.disk.write(path, seen, target, keeps);
    if (!document || !seen.unsaved || !isSame(await this.read(path), seen)) throw new Error(strings.changes.changedMeanwhile);
    const text = target.data.toString().replace(seen.data.toString().startsWith(bom) ? bom : "", "");
    const eol = document.eol === vscode.EndOfLine.CRLF ? "\r\n" : "\n";
    const isExact = Buffer.from(target.data.toString()).equals(target.data) && text.replaceAll(/\r\n|\r|\n/g, eol) === text;
    if (target.kind !== "file" || target.executable !== seen.executable || !isExact) throw new Error(strings.changes.notExact);
    const old = document.getText();
    const [from, to] = [start(old, text), end(old, text)];
    const edit = new vscode.WorkspaceEdit();
    edit.replace(document.uri, new vscode.Range(document.positionAt(from), document.positionAt(old.length - to)), text.slice(from, text.length - to));
    if (!(await vscode.workspace.applyEdit(edit))) throw new Error(strings.changes.changedMeanwhile);
  }

  private unsaved(path: string): vscode.TextDocument | undefined {
    const names = [join(this.root, path), join(this.folder, path)];
    return vscode.workspace.textDocuments.find((one) => one.uri.scheme === "file" && names.includes(one.uri.fsPath) && one.isDirty);
  }
}

/** Returns the length of the equal lines at the start of two texts. */
function start(a: string, b: string): number {
  let at = 0;
  while (at < Math.min(a.length, b.length) && a[at] === b[at]) at++;
  return at === 0 ? 0 : a.lastIndexOf("\n", at - 1) + 1;
}

/** Returns the length of the equal lines at their end, which are not among those at the start. */
function end(a: string, b: string): number {
  const most = Math.min(a.length, b.length) - start(a, b);
  let length = 0;
  while (length < most && a[a.length - 1 - length] === b[b.length - 1 - length]) length++;
  const line = a.indexOf("\n", a.length - length);
  return line < 0 ? 0 : a.length - line - 1;
}
