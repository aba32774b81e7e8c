// The settings, read when they are needed.
import * as vscode from "vscode";
import type { Where } from "../core/program";
import type { Settings } from "../core/surface";

const all = (): vscode.WorkspaceConfiguration => vscode.workspace.getConfiguration("codexBridge");

export const where = (): Where => ({
  path: all().get("path", ""),
  codexPath: all().get("codexPath", ""),
  configFile: all().get("configFile", ""),
});

export const threads = (): Settings => ({
  approvalPolicy: all().get("approvalPolicy", "on-request"),
  sandbox: all().get("sandbox", "workspace-write"),
  model: all().get("model", ""),
});

export const notifications = (): "always" | "whenHidden" | "never" => all().get("approvalNotifications", "whenHidden");
export const opensDiff = (): boolean => all().get("openDiff", true);
export const editorTools = (): boolean => all().get("editorTools", true);
