// Puts the bridge under the official Codex extension, by that one's own setting, and takes it away.
import * as vscode from "vscode";
import { type Kept, restore, use } from "../core/program";
import { find } from "./settings";
import * as settings from "./settings";

const section = "chatgpt";
const key = "cliExecutable";
const memory = "official.before";

const current = (): string | undefined => vscode.workspace.getConfiguration(section).inspect<string>(key)?.globalValue || undefined;

export async function useBridge(state: vscode.Memento): Promise<void> {
  const bridge = find(settings.where().path);
  if (!bridge) {
    void vscode.window.showErrorMessage("codex-bridge is not to be found. Install it, or set codexBridge.path.");
    return;
  }
  const { value, keep } = use(bridge, current(), state.get<Kept>(memory));
  if (!(await write(value))) return;
  await state.update(memory, keep);
  await reload(`The official extension starts ${bridge} from now on, after a reload.`);
}

export async function restoreBridge(state: vscode.Memento): Promise<void> {
  let value: string | undefined;
  try {
    value = restore(find(settings.where().path), current(), state.get<Kept>(memory));
  } catch (cause) {
    void vscode.window.showWarningMessage((cause as Error).message);
    return;
  }
  if (!(await write(value))) return;
  await state.update(memory, undefined);
  await reload(value ? `The official extension starts ${value} again, after a reload.` : "The official extension starts its own codex again, after a reload.");
}

/** False, with a word to the person, where the setting can't be written: VS Code knows it only while the extension is there. */
async function write(value: string | undefined): Promise<boolean> {
  try {
    await vscode.workspace.getConfiguration(section).update(key, value, vscode.ConfigurationTarget.Global);
    return true;
  } catch {
    const line = `"${section}.${key}": ${JSON.stringify(value ?? null)}`;
    const copy = "Copy the Setting";
    const picked = await vscode.window.showWarningMessage("The official Codex extension is not installed here, so that its setting can't be written.", copy);
    if (picked === copy) await vscode.env.clipboard.writeText(line);
    return false;
  }
}

async function reload(text: string): Promise<void> {
  const now = "Reload Window";
  if ((await vscode.window.showInformationMessage(text, now)) === now) await vscode.commands.executeCommand("workbench.action.reloadWindow");
}
