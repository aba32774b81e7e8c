// What VS Code calls.
import * as vscode from "vscode";
import { App } from "./editor/app";
import { register } from "./editor/commands";

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
