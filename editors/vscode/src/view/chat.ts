// The chat as a view of VS Code: keeps the page in step with the session.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { Batch } from "../core/deltaBatch";
import { html } from "./html";
import { decode, type FromPage, type PageState, type ToPage } from "./messages";

export interface Host {
  state(): PageState;
  message(message: FromPage): void;
  shown(): void;
}

export class Chat implements vscode.WebviewViewProvider {
  static readonly id = "codexBridge.chat";
  private view: vscode.WebviewView | undefined;
  private ready = false;
  private later: ToPage[] = []; // a draft for a page that is not there yet
  private readonly batch = new Batch((growth) => this.post({ type: "grow", ...growth }));

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
      const message = decode(raw);
      if (message?.type === "ready") {
        this.ready = true;
        this.reset();
        for (const one of this.later.splice(0)) this.post(one);
        this.host.shown();
      } else if (message) {
        this.host.message(message);
      }
    });
    view.onDidDispose(() => {
      this.view = undefined;
      this.ready = false;
    });
    webview.html = html({
      csp: webview.cspSource,
      nonce: randomBytes(16).toString("base64url"),
      script: file("dist", "chat.js"),
      style: file("media", "chat.css"),
    });
  }

  /** Shows the chat; draft is put into what is being typed. */
  async focus(draft = ""): Promise<void> {
    const message: ToPage = draft ? { type: "draft", text: draft } : { type: "focus" };
    await vscode.commands.executeCommand(`${Chat.id}.focus`);
    if (this.ready) this.post(message);
    else this.later.push(message);
  }

  badge(count: number): void {
    if (this.view) this.view.badge = count > 0 ? { value: count, tooltip: "Codex waits for an answer" } : undefined;
  }

  reset(): void {
    this.tell({ type: "state", state: this.host.state() });
  }

  grow(id: string, field: "text" | "output", text: string): void {
    if (this.ready) this.batch.add(id, field, text);
  }

  tell(message: ToPage): void {
    this.batch.flush();
    this.post(message);
  }

  private post(message: ToPage): void {
    if (this.ready) void this.view?.webview.postMessage(message);
  }
}
