// Sets and restores chatgpt.cliExecutable, the program that the official Codex extension starts.
import * as vscode from "vscode";
import { type SavedSetting, restoreSetting, useBridgeSetting } from "../core/program";
import * as strings from "../core/strings/bridge";
import { find } from "./settings";
import * as settings from "./settings";

const section = "chatgpt";
const key = "cliExecutable";
const stateKey = "official.before";

const current = (): string | undefined => vscode.workspace.getConfiguration(section).inspect<string>(key)?.globalValue || undefined;

export async function useBridge(state: vscode.Memento): Promise<void> {
  const bridge = find(settings.programs().path);
  if (!bridge) {
    void vscode.window.showErrorMessage(strings.program.bridgeMissing);
    return;
  }
  const { value, save } = useBridgeSetting(bridge, current(), state.get<SavedSetting>(stateKey));
  if (!(await write(value))) return;
  await state.update(stateKey, save);
  await reload(strings.official.started(bridge));
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
  await reload(value ? strings.official.started(value) : strings.official.own);
}

/** Writes the setting. Returns false, with a warning, if the official extension is not installed: VS Code rejects unknown settings. */
async function write(value: string | undefined): Promise<boolean> {
  try {
    await vscode.workspace.getConfiguration(section).update(key, value, vscode.ConfigurationTarget.Global);
    return true;
  } catch {
    const line = `"${section}.${key}": ${JSON.stringify(value ?? null)}`;
    const copy = strings.official.copy;
    const picked = await vscode.window.showWarningMessage(strings.official.notInstalled, copy);
    if (picked === copy) await vscode.env.clipboard.writeText(line);
    return false;
  }
}

async function reload(text: string): Promise<void> {
  const now = strings.official.reload;
  if ((await vscode.window.showInformationMessage(text, now)) === now) await vscode.commands.executeCommand("workbench.action.reloadWindow");
}
