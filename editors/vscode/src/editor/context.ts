// The context of a message: adds the selection, problems and files of the editor, and suggests files for mentions.
import { statSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { asMention } from "../core/attachments";
import * as strings from "../core/strings/chat";
import { codeBlock, relativePath, visibleValue } from "../core/text";
import { formatProblems } from "../core/toolOutput";
import type { Suggestion } from "../view/messages";
import type { OpenChat } from "./chats";

const maxSuggestions = 20;

/** Returns the name of a file for the model: relative to the folder of the chat, or absolute. */
const nameOf = ({ folder }: Pick<OpenChat, "folder">, uri: vscode.Uri): string => relativePath(folder, uri.fsPath);

/** Adds the selection of the active editor, or its file if nothing is selected. Returns why it can't. */
export function addSelection(chat: OpenChat): string | undefined {
  const editor = vscode.window.activeTextEditor;
  if (!editor) return strings.context.noEditor;
  const { document, selection } = editor;
  if (selection.isEmpty) return addFile(chat, document.uri);
  const file = document.uri.scheme === "file" ? nameOf(chat, document.uri) : document.uri.toString();
  const [from, to] = [selection.start.line + 1, selection.end.character === 0 && selection.end.line > selection.start.line ? selection.end.line : selection.end.line + 1];
  const text = codeBlock(file, document.languageId, from, to, document.getText(selection));
  chat.attachments.add({ kind: "selection", label: visibleValue(strings.context.lines(file, from, to)), text, path: "" });
  return undefined;
}

/** Adds the errors and warnings of the active file. Returns why it can't. */
export function addProblems(chat: OpenChat): string | undefined {
  const document = vscode.window.activeTextEditor?.document;
  if (!document) return strings.context.noEditor;
  const file = nameOf(chat, document.uri);
  const problems = vscode.languages.getDiagnostics(document.uri).map((d) => ({
    path: file, line: d.range.start.line, column: d.range.start.character, severity: d.severity, message: d.message, source: d.source ?? "",
  }));
  if (problems.length === 0) return strings.context.noProblems(file);
  const label = visibleValue(`${file}: ${strings.context.count(problems.length)}`);
  chat.attachments.add({ kind: "problems", label, text: `${strings.context.problems(file)}:\n${formatProblems(problems)}`, path: "" });
  return undefined;
}

/** Adds a file or folder. The model gets its name, and reads it when it needs it. Returns why it can't. */
export function addFile(chat: OpenChat, uri: vscode.Uri): string | undefined {
  if (uri.scheme !== "file") return strings.context.notAFile;
  const file = nameOf(chat, uri);
  chat.attachments.add({ kind: "file", label: visibleValue(file), text: asMention(file), path: "" });
  return undefined;
}

/** Adds a file that was dropped. In a remote window the explorer names the remote files. */
export function addDropped(chat: OpenChat, text: string): string | undefined {
  const uri = vscode.Uri.parse(text);
  return addFile(chat, uri.scheme === "vscode-remote" && vscode.env.remoteName !== undefined ? vscode.Uri.file(uri.path) : uri);
}

/** Lets the user choose the kind of context. Returns why it can't be added. */
export async function chooseContext(chat: OpenChat): Promise<string | undefined> {
  const s = strings.context;
  const items = [
    { label: s.selection, detail: s.selectionDetail, run: () => Promise.resolve(addSelection(chat)) },
    { label: s.problemsLabel, detail: s.problemsDetail, run: () => Promise.resolve(addProblems(chat)) },
    { label: s.files, detail: s.filesDetail, run: () => chooseFiles(chat) },
  ];
  const picked = await vscode.window.showQuickPick(items, { title: s.choose });
  return picked?.run();
}

async function chooseFiles(chat: OpenChat): Promise<string | undefined> {
  const found = await vscode.workspace.findFiles("**/*", undefined, 2000);
  const items = found.map((uri) => ({ label: vscode.workspace.asRelativePath(uri), uri })).sort((a, b) => a.label.localeCompare(b.label));
  const picked = await vscode.window.showQuickPick(items, { title: strings.context.files, canPickMany: true, matchOnDetail: true });
  return (picked ?? []).map(({ uri }) => addFile(chat, uri)).find((why) => why !== undefined);
}

/** Reports whether a path, relative to the folder of the chat or absolute, names a file or a folder. */
export function exists(folder: string, name: string): boolean {
  if (name.includes("\0") || /^[\\/]{2}/.test(name)) return false;
  return statSync(path.resolve(folder, name), { throwIfNoEntry: false }) !== undefined;
}

interface Match {
  path: string;
  match_type: string;
}

/** Suggests files and folders for @query: those of Codex's search, which knows .gitignore, else those that VS Code finds. */
export async function suggestFiles(chat: Pick<OpenChat, "folder" | "session">, query: string, log: (line: string) => void): Promise<Suggestion[]> {
  const cwd = chat.folder;
  let found: { path: string; isFolder: boolean }[] = [];
  if (query !== "") {
    try {
      // No cancellation token: with one, Codex 0.169.0 may end the newest of several searches.
      const { files } = await chat.session.call<{ files: Match[] }>("fuzzyFileSearch", { query, roots: [cwd], cancellationToken: null });
      // Codex finds the files of .git, too.
      found = files.filter((one) => !/(?:^|[\\/])\.git(?:[\\/]|$)/.test(one.path)).map((one) => ({ path: one.path, isFolder: one.match_type === "directory" }));
    } catch (cause) {
      log(`fuzzyFileSearch: ${String(cause)}`); // the policy or an old Codex refuses it
      found = await findFiles(cwd, query);
    }
  } else {
    const open = vscode.window.tabGroups.all.flatMap((group) => group.tabs).flatMap((tab) => (tab.input instanceof vscode.TabInputText && tab.input.uri.scheme === "file" ? [nameOf(chat, tab.input.uri)] : []));
    found = [...new Set(open)].map((name) => ({ path: name, isFolder: false }));
    if (found.length < maxSuggestions) found.push(...(await findFiles(cwd, "")).filter((one) => !open.includes(one.path)));
  }
  return found.slice(0, maxSuggestions).map((one) => ({
    insert: asMention(one.path), label: visibleValue(path.basename(one.path)),
    detail: visibleValue(one.isFolder ? `${one.path}/ ${strings.completion.folder}` : one.path === path.basename(one.path) ? "" : one.path),
  }));
}

async function findFiles(cwd: string, query: string): Promise<{ path: string; isFolder: boolean }[]> {
  const letters = query.toLowerCase().replace(/[^\w./-]/g, "");
  const found = await vscode.workspace.findFiles(new vscode.RelativePattern(cwd, "**/*"), undefined, 2000);
  const names = found.map((uri) => relativePath(cwd, uri.fsPath)).filter((name) => name.toLowerCase().includes(letters));
  return names.sort((a, b) => a.length - b.length || a.localeCompare(b)).map((name) => ({ path: name, isFolder: false }));
}
