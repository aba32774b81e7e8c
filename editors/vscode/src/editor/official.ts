// Sets and restores chatgpt.cliExecutable, the program that the official Codex extension starts.
import * as vscode from "vscode";
import { type SavedSetting, restoreSetting, useBridgeSetting } from "../core/program";
import { find } from "./settings";
import * as settings from "./settings";

const section = "chatgpt";
const key = "cliExecutable";
const stateKey = "official.before";

const current = (): string | undefined => vscode.workspace.getConfiguration(section).inspect<string>(key)?.globalValue || undefined;

export async function useBridge(state: vscode.Memento): Promise<void> {
  const bridge = find(settings.programs().path);
  if (!bridge) {
    void vscode.window.showErrorMessage("codex-bridge was not found. Install it, or set codexBridge.path.");
    return;
  }
  const { value, save } = useBridgeSetting(bridge, current(), state.get<SavedSetting>(stateKey));
  if (!(await write(value))) return;
  await state.update(stateKey, save);
  await reload(`Reload the window to start ${bridge} in the official extension.`);
}

export async function restoreBridge(state: vscode.Memento): Promise<void> {
  let value: string | undefined;
  try {
    value = restoreSetting(find(settings.programs().path), current(), state.get<SavedSetting>(stateKey));
  } catch (cause) {
    void vscode.window.showWarningMessage((cause as Error).message);
    return;
  }
  if (!(await write(value))) return;
  await state.update(stateKey, undefined);
  await reload(value ? `Reload the window to start ${value} in the official extension.` : "Reload the window to start the official extension's own codex.");
}

/** Writes the setting. Returns false, with a warning, if the official extension is not installed: VS Code rejects unknown settings. */
async function write(value: string | undefined): Promise<boolean> {
  try {
    await vscode.workspace.getConfiguration(section).update(key, value, vscode.ConfigurationTarget.Global);
    return true;
  } catch {
    const line = `"${section}.${key}": ${JSON.stringify(value ?? null)}`;
    const copy = "Copy the Setting";
    const picked = await vscode.window.showWarningMessage("The setting can't be written, because the official Codex extension is not installed.", copy);
    if (picked === copy) await vscode.env.clipboard.writeText(line);
    return false;
  }
}

async function reload(text: string): Promise<void> {
  const now = "Reload Window";
  if ((await vscode.window.showInformationMessage(text, now)) === now) await vscode.commands.executeCommand("workbench.action.reloadWindow");
}
