import * as vscode from "vscode";

/** Sets a context key, which conditions in package.json read. */
export function setContext(name: string, value: boolean): void {
  void vscode.commands.executeCommand("setContext", `codexBridge.${name}`, value);
}
