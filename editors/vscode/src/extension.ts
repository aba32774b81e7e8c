// The entry point of the extension: activation and the commands of the palette.
import * as path from "node:path";
import * as vscode from "vscode";
import { relativeTime } from "./core/text";
import type { Thread } from "./core/protocol";
import * as strings from "./core/strings";
import { codeBlock } from "./core/text";
import { App } from "./editor/app";
import { restoreBridge, useBridge } from "./editor/official";
import { openSettings, showDecisions, showGrants, showStatus, tryCommand } from "./editor/policyCommands";
import { threadName } from "./editor/threads";

let app: App | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const output = vscode.window.createOutputChannel(strings.product, { log: true });
  context.subscriptions.push(output);
  app = new App(context, output);
  register(context, app);
}

/** Stops the app-server before the window closes, so that the next window can resume its thread. */
export async function deactivate(): Promise<void> {
  await app?.close();
}

function register(context: vscode.ExtensionContext, app: App): void {
  const commands: Record<string, (...args: never[]) => unknown> = {
    focus: () => app.chat.focus(),
    new: () => app.newThread(),
    sendSelection: () => sendSelection(app),
    stop: () => app.stop(),
    steer: () => app.chat.focus(),
    resume: (thread?: Thread) => resume(app, thread),
    refresh: () => app.threadTree.refresh(),
    accept: (diff?: vscode.Uri) => app.answerCurrent("accept", diff),
    acceptForSession: (diff?: vscode.Uri) => app.answerCurrent("acceptForSession", diff),
    decline: (diff?: vscode.Uri) => app.answerCurrent("decline", diff),
    showDiff: () => app.showDiff(),
    status: () => showStatus(app),
    grants: () => showGrants(app),
    decisions: () => showDecisions(),
    try: () => tryCommand(app),
    settings: () => openSettings(),
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

/** Adds the selection to the draft, or the path of the file if nothing is selected. */
async function sendSelection(app: App): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) return;
  const { document, selection } = editor;
  const file = vscode.workspace.asRelativePath(document.uri);
  const draft = selection.isEmpty
    ? `${file}\n`
    : codeBlock(file, document.languageId, selection.start.line + 1, selection.end.line + 1, document.getText(selection));
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
  const items = threads.map((t) => ({ label: threadName(t), description: relativeTime(t.updatedAt * 1000, Date.now()), detail: path.basename(t.cwd), id: t.id }));
  const picked = await vscode.window.showQuickPick(items, { title: strings.thread.pick, placeHolder: strings.thread.pickHint });
  if (picked) await app.resume(picked.id);
}
