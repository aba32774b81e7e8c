// The settings, read when they are needed.
import { accessSync, constants, statSync } from "node:fs";
import * as vscode from "vscode";
import { finder, type Where } from "../core/program";
import type { Settings } from "../core/sessionHost";

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

export const find = finder(
  (file) => {
    try {
      accessSync(file, constants.X_OK);
      return statSync(file).isFile();
    } catch {
      return false;
    }
  },
  process.env,
  process.platform === "win32",
);
