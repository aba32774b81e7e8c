// Reads the settings, and finds programs on PATH.
import { accessSync, constants, statSync } from "node:fs";
import * as vscode from "vscode";
import { finder, type ProgramSettings } from "../core/program";
import type { Settings } from "../core/sessionHost";

const configuration = (): vscode.WorkspaceConfiguration => vscode.workspace.getConfiguration("codexBridge");

export const programs = (): ProgramSettings => ({
  path: configuration().get("path", ""),
  codexPath: configuration().get("codexPath", ""),
  configFile: configuration().get("configFile", ""),
});

export const threads = (): Settings => ({
  approvalPolicy: configuration().get("approvalPolicy", "on-request"),
  sandbox: configuration().get("sandbox", "workspace-write"),
  model: configuration().get("model", ""),
});

export const notifications = (): "always" | "whenHidden" | "never" => configuration().get("approvalNotifications", "whenHidden");
export const turnNotifications = (): boolean => configuration().get("turnNotifications", "whenHidden") === "whenHidden";
export const openDiff = (): boolean => configuration().get("openDiff", true);
export const editorTools = (): boolean => configuration().get("editorTools", true);

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
