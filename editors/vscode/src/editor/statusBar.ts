// The item in the status bar. It shows the state of the gate, and whether Codex waits for the user.
import * as vscode from "vscode";
import type { Gate } from "../core/gate";
import * as strings from "../core/strings/bridge";

const icons: Record<Gate["level"], string> = { on: "$(shield)", waiting: "$(circle-outline)", off: "$(warning)", broken: "$(error)" };

export class StatusBar {
  private readonly item = vscode.window.createStatusBarItem("codexBridge.status", vscode.StatusBarAlignment.Right, 90);
  private state: Gate = { level: "waiting", short: strings.gate.notStarted, why: "" };
  private requests = 0;
  private running = false;

  constructor() {
    this.item.name = strings.product;
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

  waiting(requests: number): void {
    this.requests = requests;
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
    const doing = this.requests > 0 ? `$(bell-dot) ${strings.gate.answerNeeded}` : this.running ? "$(loading~spin)" : "";
    this.item.text = `${icons[level]} ${strings.gate.bar(short, doing)}`;
    this.item.tooltip = strings.gate.tooltip(short, why, this.requests > 0);
    this.item.accessibilityInformation = { label: this.item.tooltip, role: "button" };
    this.item.backgroundColor =
      level === "broken"
        ? new vscode.ThemeColor("statusBarItem.errorBackground")
        : this.requests > 0 || level === "off"
          ? new vscode.ThemeColor("statusBarItem.warningBackground")
          : undefined;
  }
}
