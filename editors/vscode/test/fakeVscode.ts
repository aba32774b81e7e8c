// The parts of the API of VS Code that the tests of src/editor and src/view need. A test sets state, and reads calls.
export class Uri {
  constructor(readonly scheme: string, readonly fsPath: string, readonly query = "", readonly authority = "") {}
  static file = (path: string): Uri => new Uri("file", path);
  static parse = (text: string): Uri => new Uri(text.split(":")[0]!, text);
  static joinPath = (base: Uri, ...parts: string[]): Uri => new Uri(base.scheme, [base.fsPath, ...parts].join("/"));
  with = (change: { scheme?: string; query?: string; authority?: string }): Uri => new Uri(change.scheme ?? this.scheme, this.fsPath, change.query ?? this.query, change.authority ?? this.authority);
  toString = (): string => `${this.scheme}:${this.authority && `//${this.authority}`}${this.fsPath}`;
}
export class Position {
  constructor(readonly line: number, readonly character: number) {}
}
export class Range {
  constructor(readonly start: Position, readonly end: Position) {}
}
export class RelativePattern {
  constructor(readonly base: string, readonly pattern: string) {}
}
export class TabInputText {
  constructor(readonly uri: Uri) {}
}
export class TabInputTextDiff {
  constructor(readonly original: Uri, readonly modified: Uri) {}
}
export class TreeItem {
  [name: string]: unknown;
  constructor(readonly label: string) {}
}
export class ThemeIcon {
  constructor(readonly id: string) {}
}
export class ThemeColor {
  constructor(readonly id: string) {}
}
export class EventEmitter {
  event = (): object => ({ dispose: () => undefined });
  fire(): void {}
}
export const FileType = { File: 1 };
export const FilePermission = { Readonly: 1 };
export const FileSystemError = { FileNotFound: (uri: Uri) => new Error(`no file ${uri.toString()}`) };
export const EndOfLine = { LF: 1, CRLF: 2 };
export class WorkspaceEdit {
  readonly edits: { uri: Uri; range: Range; text: string }[] = [];
  replace = (uri: Uri, range: Range, text: string): void => void this.edits.push({ uri, range, text });
}
export const StatusBarAlignment = { Right: 2 };
export const SymbolKind: Record<number, string> = { 4: "Class" };
export const QuickPickItemKind = { Separator: -1 };

export const state = {
  folders: ["/w"],
  settings: {} as Record<string, unknown>,
  openFiles: [] as string[],
  diagnostics: [] as [Uri, unknown[]][],
  activeTab: undefined as unknown,
  activeEditor: undefined as unknown,
  input: undefined as string | undefined,
  picks: [] as string[],
  /** Answers the modal questions. */
  answer: undefined as string | undefined,
  /** Chooses a button of the other warnings. */
  button: undefined as string | undefined,
  foundFiles: [] as string[],
};
/** The calls of the code, such as "warning Codex: …" or "command codexBridge.chat.focus". */
export const calls: string[] = [];
const record = (line: string): Promise<undefined> => {
  calls.push(line);
  return Promise.resolve(undefined);
};
const disposable = { dispose: () => undefined };

export const env = { remoteName: undefined as string | undefined, openExternal: () => record("external"), clipboard: { writeText: () => record("copied") } };
export const commands = {
  executeCommand: (name: string, ...args: unknown[]) => record(["command", name, ...args.map((one) => JSON.stringify(one))].join(" ")),
  registerCommand: () => disposable,
};
export const languages = { getDiagnostics: (uri?: Uri) => (uri ? (state.diagnostics.find(([one]) => one.fsPath === uri.fsPath)?.[1] ?? []) : state.diagnostics) };
export const workspace = {
  isTrusted: true,
  get workspaceFolders() {
    return state.folders.map((path) => ({ uri: Uri.file(path), name: path.split("/").at(-1)! }));
  },
  // As VS Code does with several folders: the name of the folder comes first.
  asRelativePath: (uri: Uri | string) => {
    const path = typeof uri === "string" ? uri : uri.fsPath;
    const root = state.folders.find((one) => path.startsWith(`${one}/`));
    if (!root) return path;
    return (state.folders.length > 1 ? `${root.split("/").at(-1)}/` : "") + path.slice(root.length + 1);
  },
  getConfiguration: () => ({ get: (name: string, fallback: unknown) => state.settings[name] ?? fallback }),
  findFiles: () => Promise.resolve(state.foundFiles.map((path) => Uri.file(path))),
  openTextDocument: (uri: Uri) => record(`document ${uri.fsPath}`),
  registerTextDocumentContentProvider: () => disposable,
  registerFileSystemProvider: () => disposable,
  textDocuments: [] as { uri: Uri; isDirty?: boolean; getText?(): string; apply?(range: Range, text: string): void }[],
  applyEdit: (edit: WorkspaceEdit) => {
    for (const { uri, range, text } of edit.edits) workspace.textDocuments.find((one) => one.uri === uri)?.apply?.(range, text);
    return Promise.resolve(true);
  },
  onWillSaveTextDocument: () => disposable,
  onDidSaveTextDocument: () => disposable,
  onDidCloseTextDocument: () => disposable,
  onDidGrantWorkspaceTrust: () => disposable,
  onDidChangeWorkspaceFolders: () => disposable,
};
export const window = {
  get activeTextEditor() {
    return state.activeEditor;
  },
  tabGroups: {
    get all() {
      return [{ tabs: state.openFiles.map((path) => ({ input: new TabInputText(Uri.file(path)), isDirty: false })) }];
    },
    get activeTabGroup() {
      return { activeTab: state.activeTab === undefined ? undefined : { input: state.activeTab } };
    },
    close: () => Promise.resolve(true),
  },
  createStatusBarItem: () => ({ show: () => undefined, dispose: () => undefined }),
  registerWebviewViewProvider: () => disposable,
  createTreeView: () => ({ ...disposable, description: "" }),
  state: { focused: true },
  // Chooses the first item whose label starts with the next one of state.picks.
  showQuickPick: (items: (string | { label: string; description?: string })[]) => {
    const label = (one: string | { label: string }): string => (typeof one === "string" ? one : one.label);
    calls.push(["pick", ...items.map((one) => [label(one), typeof one === "string" ? "" : one.description].filter(Boolean).join(": "))].join(" | "));
    const wanted = state.picks.shift();
    return Promise.resolve(wanted === undefined ? undefined : items.find((one) => label(one).startsWith(wanted)));
  },
  showInputBox: () => Promise.resolve(state.input),
  showInformationMessage: (text: string, ...buttons: string[]) => record(["information", text, ...buttons].join(" | ")),
  showWarningMessage: async (text: string, ...buttons: (string | object)[]) => {
    await record(["warning", text, ...buttons.filter((one) => typeof one === "string")].join(" | "));
    return buttons.some((one) => typeof one === "object") ? state.answer : buttons.find((one) => one === state.button);
  },
  showErrorMessage: (text: string) => record(`error ${text}`),
  showTextDocument: (uri: Uri, options: { selection?: Range }) => record(`open ${uri.fsPath}${options.selection ? `:${options.selection.start.line + 1}` : ""}`),
};
