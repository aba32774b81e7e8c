// The webview of the chat, and its messages.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { DeltaBatch } from "../core/deltaBatch";
import * as strings from "../core/strings/chat";
import { html } from "./html";
import { parseMessage, type FromPage, type PageState, type ToPage } from "./messages";

export interface Host {
  state(): PageState;
  message(message: FromPage): void;
  shown(): void;
  visibilityChanged(): void;
}

export class Chat implements vscode.WebviewViewProvider {
  static readonly id = "codexBridge.chat";
  private view: vscode.WebviewView | undefined;
  private ready = false;
  /** Messages for a page that is not loaded yet. */
  private later: ToPage[] = [];
  private readonly batch = new DeltaBatch((delta) => this.post({ type: "append", ...delta }));

  constructor(
    private readonly root: vscode.Uri,
    private readonly host: Host,
  ) {}

  get visible(): boolean {
    return this.view?.visible ?? false;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.ready = false;
    const { webview } = view;
    const file = (...path: string[]): string => webview.asWebviewUri(vscode.Uri.joinPath(this.root, ...path)).toString();
    webview.options = {
      enableScripts: true,
      localResourceRoots: [vscode.Uri.joinPath(this.root, "dist"), vscode.Uri.joinPath(this.root, "media")],
    };
    webview.onDidReceiveMessage((raw: unknown) => {
      const message = parseMessage(raw);
      if (message?.type === "ready") {
        this.ready = true;
        this.reset();
        for (const later of this.later.splice(0)) this.post(later);
        this.host.shown();
      } else if (message) {
        this.host.message(message);
      }
    });
    view.onDidChangeVisibility(() => {
      if (!view.visible) this.ready = false; // VS Code destroys the page, and loads it again when it is shown
      this.host.visibilityChanged();
    });
    view.onDidDispose(() => {
      this.view = undefined;
      this.ready = false;
      this.host.visibilityChanged();
    });
    webview.html = html({
      csp: webview.cspSource,
      nonce: randomBytes(16).toString("base64url"),
      script: file("dist", "chat.js"),
      style: file("media", "chat.css"),
    });
  }

  /** Opens the chat and focuses the message. */
  async focus(): Promise<void> {
    await vscode.commands.executeCommand(`${Chat.id}.focus`);
    this.sendWhenReady({ type: "focus" });
  }

  /** Sends a message to the page, at once or when it is loaded. */
  sendWhenReady(message: ToPage): void {
    if (this.ready) this.send(message);
    else this.later = [...this.later.filter((one) => one.type !== message.type), message];
  }

  badge(count: number): void {
    if (this.view) this.view.badge = count > 0 ? { value: count, tooltip: strings.chat.badge } : undefined;
  }

  reset(): void {
    this.send({ type: "state", state: this.host.state() });
  }

  append(id: string, field: "text" | "output", text: string): void {
    if (this.ready) this.batch.add(id, field, text);
  }

  send(message: ToPage): void {
    this.batch.flush();
    this.post(message);
  }

  private post(message: ToPage): void {
    if (this.ready) void this.view?.webview.postMessage(message);
  }
}
