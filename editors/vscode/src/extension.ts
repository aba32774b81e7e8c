// The entry point of the extension: activation and the commands of the palette.
import * as path from "node:path";
import * as vscode from "vscode";
import { relativeTime } from "./core/text";
import type { Thread } from "./core/protocol";
import * as strings from "./core/strings/bridge";
import { App } from "./editor/app";
import { chooseFolder, closeChat, newChat, openChat, pickChat } from "./editor/chatCommands";
import { restoreBridge, useBridge } from "./editor/official";
import { openSettings, showDecisions, showGrants, showStatus, tryCommand } from "./editor/policyCommands";
import { archiveThread, forkThread, renameThread, searchThreads, unarchiveThread } from "./editor/threadCommands";
import { threadName } from "./editor/threads";
import { showWorkingTree } from "./editor/workingTree";

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
    sendSelection: () => app.composing.addSelection(),
    addProblems: () => app.composing.addProblems(),
    addFile: (file?: vscode.Uri) => app.composing.addFile(file),
    review: (instructions?: string) => app.review(typeof instructions === "string" ? instructions : ""),
    compact: () => app.startTurn("thread/compact/start"),
    model: () => app.composing.pick("model"),
    permissions: () => app.composing.pick("permissions"),
    diff: () => showWorkingTree(app.folder, (line) => app.log(line)),
    showChanges: () => app.changes.showLast(app.folder, app.threadId),
    restoreTurn: () => app.changes.restore(app.folder, app.threadId),
    undoRestore: () => app.changes.undoRestore(app.folder),
    newChat: () => newChat(app),
    chooseFolder: () => chooseFolder(app),
    switchChat: () => pickChat(app),
    closeChat: () => closeChat(app),
    openInChat: (thread: Thread) => openChat(app, { key: "", threadId: thread.id }),
    search: () => searchThreads(app),
    rename: (thread?: Thread) => renameThread(app, thread),
    archive: (thread?: Thread) => archiveThread(app, thread),
    unarchive: (thread: Thread) => unarchiveThread(app, thread),
    fork: (thread?: Thread) => forkThread(app, thread),
    showArchived: () => app.toggleArchived(),
    hideArchived: () => app.toggleArchived(),
    stop: () => app.stop(),
    steer: () => app.chat.focus(),
    resume: (thread?: Thread) => resume(app, thread),
    refresh: () => app.threadTree.refresh(),
    accept: (diff?: vscode.Uri) => app.requests.answerCurrent("accept", diff),
    acceptForSession: (diff?: vscode.Uri) => app.requests.answerCurrent("acceptForSession", diff),
    decline: (diff?: vscode.Uri) => app.requests.answerCurrent("decline", diff),
    editPatch: () => app.requests.edit(),
    acceptEdited: (diff?: vscode.Uri) => app.requests.answerCurrent("accept", diff),
    discardEdits: (diff?: vscode.Uri) => app.requests.discardEdit(app.requests.edits.request(diff)),
    showDiff: () => app.requests.showDiff(),
    status: () => showStatus(app),
    grants: () => showGrants(app),
    decisions: () => showDecisions(app),
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
