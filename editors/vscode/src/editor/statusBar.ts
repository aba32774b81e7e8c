// One item in the status bar: whether the gate is in force, and whether Codex waits for an answer.
import * as vscode from "vscode";
import type { Gate } from "../core/gate";

const icons: Record<Gate["level"], string> = { on: "$(shield)", waiting: "$(circle-outline)", off: "$(warning)", broken: "$(error)" };

export class StatusBar {
  private readonly item = vscode.window.createStatusBarItem("codexBridge.status", vscode.StatusBarAlignment.Right, 90);
  private state: Gate = { level: "waiting", short: "not started", why: "" };
  private asks = 0;
  private running = false;

  constructor() {
    this.item.name = "Codex Bridge";
    this.item.command = "codexBridge.status";
    this.draw();
    this.item.show();
  }

  get gate(): Gate {
    return this.state;
  }

  show(gate: Gate): void {
    this.state = gate;
    this.draw();
  }

  waiting(asks: number): void {
    this.asks = asks;
    this.draw();
  }

  turn(running: boolean): void {
    this.running = running;
    this.draw();
  }

  dispose(): void {
    this.item.dispose();
  }

  private draw(): void {
    const { level, short, why } = this.state;
    const doing = this.asks > 0 ? "$(bell-dot) asks" : this.running ? "$(loading~spin)" : "";
    this.item.text = `${icons[level]} Codex: ${short} ${doing}`.trim();
    const asks = this.asks > 0 ? " Codex waits for your answer." : "";
    this.item.tooltip = `Codex Bridge: ${short}. ${why}${asks}`;
    this.item.accessibilityInformation = { label: this.item.tooltip, role: "button" };
    this.item.backgroundColor =
      level === "broken"
        ? new vscode.ThemeColor("statusBarItem.errorBackground")
        : this.asks > 0 || level === "off"
          ? new vscode.ThemeColor("statusBarItem.warningBackground")
          : undefined;
  }
}
