// The entry point of the extension: activation and the commands of the palette.
import * as path from "node:path";
import * as vscode from "vscode";
import { ago } from "./core/text";
import { unlinked } from "./core/approvalNotification";
import type { Thread } from "./core/protocol";
import { quoted } from "./core/text";
import { App } from "./editor/app";
import { restoreBridge, useBridge } from "./editor/official";
import { name } from "./editor/threads";

let app: App | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const output = vscode.window.createOutputChannel("Codex Bridge", { log: true });
  context.subscriptions.push(output);
  app = new App(context, output);
  register(context, app);
}

/** The app-server is ended before the window is gone, so that its thread is free for the next one. */
export async function deactivate(): Promise<void> {
  await app?.close();
}

function register(context: vscode.ExtensionContext, app: App): void {
  const commands: Record<string, (...args: never[]) => unknown> = {
    focus: () => app.chat.focus(),
    new: () => app.fresh(),
    sendSelection: () => sendSelection(app),
    stop: () => app.stop(),
    steer: () => app.chat.focus(),
    resume: (thread?: Thread) => resume(app, thread),
    refresh: () => app.threadTree.refresh(),
    accept: (diff?: vscode.Uri) => app.answerShown("accept", diff),
    acceptForSession: (diff?: vscode.Uri) => app.answerShown("acceptForSession", diff),
    decline: (diff?: vscode.Uri) => app.answerShown("decline", diff),
    showDiff: () => app.showDiff(),
    status: () => status(app),
    restart: () => app.restart(),
    log: () => app.output.show(),
    "official.use": () => useBridge(context.globalState),
    "official.restore": () => restoreBridge(context.globalState),
    walkthrough: () => vscode.commands.executeCommand("workbench.action.openWalkthrough", `${context.extension.id}#start`, false),
  };
  for (const [id, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(`codexBridge.${id}`, run));
  }
}

/** Puts the selection, or the whole file where nothing is selected, into what is being typed. */
async function sendSelection(app: App): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) return;
  const { document, selection } = editor;
  const file = vscode.workspace.asRelativePath(document.uri);
  const draft = selection.isEmpty
    ? `${file}\n`
    : quoted(file, document.languageId, selection.start.line + 1, selection.end.line + 1, document.getText(selection));
  await app.chat.focus(draft);
}

async function resume(app: App, thread?: Thread): Promise<void> {
  if (thread) return app.resume(thread.id);
  let threads: Thread[];
  try {
    threads = await app.listThreads();
  } catch (cause) {
    void vscode.window.showErrorMessage((cause as Error).message);
    return;
  }
  const items = threads.map((t) => ({ label: name(t), description: ago(t.updatedAt * 1000, Date.now()), detail: path.basename(t.cwd), id: t.id }));
  const picked = await vscode.window.showQuickPick(items, { title: "Resume a thread", placeHolder: "The threads of this folder, the newest first" });
  if (picked) await app.resume(picked.id);
}

async function status(app: App): Promise<void> {
  const { short, why } = app.status.gate;
  const actions: Record<string, () => unknown> = {
    "Go to Chat": () => app.chat.focus(),
    "Show Log": () => app.output.show(),
    Restart: () => app.restart(),
  };
  const picked = await vscode.window.showInformationMessage(unlinked(`Codex Bridge: ${short}. ${why}`), ...Object.keys(actions));
  if (picked) await actions[picked]?.();
}
