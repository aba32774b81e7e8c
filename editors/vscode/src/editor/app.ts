// The parts of the extension, put together: one session, and everything that shows it.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import * as vscode from "vscode";
import type { Ask, Choice } from "../core/serverRequest";
import type { Entry, Growing } from "../core/entry";
import { gateOf, type Gate } from "../core/gate";
import { choose } from "../core/program";
import { Session } from "../core/session";
import type { Conversation, Surface, World } from "../core/sessionHost";
import { start } from "../rpc/child";
import { Chat } from "../view/chat";
import type { FromPage, PageState } from "../view/messages";
import { Diffs, scheme } from "./diffs";
import { find } from "./settings";
import { blocked, folder } from "./folder";
import { Memory } from "./conversationStore";
import { Notices } from "./approvalNotifications";
import * as settings from "./settings";
import { StatusBar } from "./statusBar";
import { Threads } from "./threads";
import * as tools from "./tools";

export class App implements Surface {
  readonly status = new StatusBar();
  readonly chat: Chat;
  readonly threadTree: Threads;
  private readonly diffs: Diffs;
  private readonly notices: Notices;
  private readonly memory: Memory;
  private session: Session | undefined;
  private name = "";

  constructor(
    private readonly context: vscode.ExtensionContext,
    readonly output: vscode.LogOutputChannel,
  ) {
    this.memory = new Memory(context.storageUri?.fsPath);
    this.diffs = new Diffs(folder() ?? "");
    this.chat = new Chat(context.extensionUri, {
      state: () => this.pageState(),
      message: (message) => this.fromPage(message),
      shown: () => void this.shown(),
    });
    this.threadTree = new Threads(
      () => this.session?.list() ?? Promise.resolve([]),
      () => this.session?.current,
      (line) => this.log(line),
    );
    this.notices = new Notices({
      answer: (id, choice) => this.answer(id, choice),
      diff: (id) => void this.showDiff(id),
      chat: () => void this.chat.focus(),
    });
    context.subscriptions.push(
      this.status,
      vscode.workspace.registerTextDocumentContentProvider(scheme, this.diffs),
      vscode.window.registerWebviewViewProvider(Chat.id, this.chat),
      vscode.window.registerTreeDataProvider("codexBridge.threads", this.threadTree),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.begin()),
    );
    this.begin();
  }

  /** A session where there may be one. Nothing is started by that. */
  private begin(): void {
    const cwd = folder();
    const why = blocked();
    if (why || cwd === undefined) {
      this.gate(gateOf({ state: "stopped", why: why?.text ?? "" }));
    } else {
      this.session ??= new Session(this.world(cwd), this, this.memory.conversation);
      this.gate(this.session.gate);
    }
    this.chat.reset();
    this.threadTree.refresh();
  }

  private world(cwd: string): World {
    return {
      cwd,
      version: String((this.context.extension.packageJSON as { version: string }).version),
      settings: settings.threads,
      start: (handlers) => {
        const program = choose(settings.where(), find);
        this.log(`starting ${program.command} ${program.args.join(" ")} in ${cwd}`);
        return { program, child: start(program, cwd, handlers, (line) => this.log(line)) };
      },
      tools: () => (settings.editorTools() ? tools.offered : []),
      callTool: (name, input) => tools.call(cwd, name, input),
      newKey: () => `vscode/${randomUUID()}`,
      pause: (ms) => sleep(ms),
    };
  }

  // What commands do

  async send(text: string): Promise<boolean> {
    if (!this.session) return false;
    try {
      await this.session.send(text);
      return true;
    } catch (cause) {
      this.log(`send: ${String(cause)}`);
      return false;
    }
  }

  async fresh(): Promise<void> {
    await this.session?.fresh();
    this.threadTree.refresh();
    await this.chat.focus();
  }

  stop(): void {
    void this.session?.stop();
  }

  threads(): void {
    this.threadTree.refresh();
  }

  async listThreads(): Promise<Awaited<ReturnType<Session["list"]>>> {
    return (await this.session?.list()) ?? [];
  }

  async resume(threadId: string): Promise<void> {
    await this.chat.focus();
    try {
      await this.session?.resume(threadId);
    } catch (cause) {
      this.log(`resume: ${String(cause)}`);
    }
    this.threadTree.refresh();
  }

  async restart(): Promise<void> {
    await this.session?.close();
    await this.session?.reopen().catch((cause: unknown) => this.log(String(cause)));
    this.threadTree.refresh();
  }

  /** Answers the question of the diff in front, else the only one that waits; where it is not clear which is meant, the chat is shown. */
  answerShown(choice: Choice, diff?: vscode.Uri): void {
    const asks = this.session?.questions.list() ?? [];
    const inFront = this.diffs.ask(diff);
    const ask = inFront === undefined ? (asks.length === 1 && this.seen() ? asks[0] : undefined) : asks.find((one) => one.id === inFront);
    if (ask && ask.fields.length === 0 && ask.choices.includes(choice)) this.answer(ask.id, choice);
    else void this.chat.focus();
  }

  /** A question that waits can be seen somewhere. */
  private seen(): boolean {
    return this.chat.visible || settings.notifications() !== "never";
  }

  async showDiff(id?: string): Promise<void> {
    const questions = this.session?.questions;
    const ask = questions?.list().find((one) => (id === undefined ? one.kind === "patch" : one.id === id));
    if (questions && ask) await this.diffs.show(ask.id, questions.changes(ask.id));
  }

  async close(): Promise<void> {
    await this.session?.close();
  }

  private answer(id: string, choice: Choice, values: Record<string, string> = {}): boolean {
    return this.session?.answer(id, choice, values) ?? false;
  }

  // The page

  private pageState(): PageState {
    return {
      entries: this.session?.entries() ?? [],
      asks: this.session?.questions.list() ?? [],
      running: this.session?.isRunning ?? false,
      title: this.name,
      folder: folder() ?? "",
      blocked: blocked(),
    };
  }

  private fromPage(message: FromPage): void {
    switch (message.type) {
      case "ready":
        return;
      case "send":
        void this.send(message.text).then((ok) => this.chat.tell({ type: "sent", text: message.text, ok }));
        return;
      case "stop":
        this.stop();
        return;
      case "answer":
        this.answer(message.id, message.choice, message.values);
        return;
      case "diff":
        void this.showDiff(message.id);
        return;
      case "open":
        void vscode.env.openExternal(vscode.Uri.parse(message.href, true));
        return;
      case "unblock": {
        const why = blocked();
        if (why) void vscode.commands.executeCommand(why.command);
        return;
      }
    }
  }

  private async shown(): Promise<void> {
    try {
      await this.session?.reopen();
    } catch (cause) {
      this.session?.transcript.notice("error", cause instanceof Error ? cause.message : String(cause));
    }
  }

  // What the session tells

  entry(entry: Entry): void {
    this.chat.tell({ type: "entry", entry });
  }

  grow(id: string, field: Growing, text: string): void {
    this.chat.grow(id, field, text);
  }

  gone(id: string): void {
    this.chat.tell({ type: "gone", id });
  }

  reset(): void {
    this.chat.reset();
  }

  asks(asks: Ask[]): void {
    this.chat.tell({ type: "asks", asks });
    this.chat.badge(asks.length);
    this.status.waiting(asks.length);
    const wanted = settings.notifications();
    this.notices.update(asks, wanted === "always" || (wanted === "whenHidden" && !this.chat.visible));
    void setContext("asking", asks.length > 0);
    void setContext("askingPatch", asks.some((ask) => ask.kind === "patch"));
    void this.diffs.close(asks.map((ask) => ask.id));
    const newest = asks.at(-1);
    if (newest?.kind === "patch" && newest.id !== this.opened && settings.opensDiff()) {
      this.opened = newest.id;
      void this.showDiff(newest.id);
    }
  }

  /** The patch that was opened last: another question does not open it again. */
  private opened = "";

  running(running: boolean): void {
    this.chat.tell({ type: "running", running });
    this.status.turn(running);
    void setContext("running", running);
  }

  gate(gate: Gate): void {
    this.status.show(gate);
    if (gate.level === "broken") this.output.error(gate.why);
    void setContext("connected", gate.level === "on" || gate.short === "gate ready");
  }

  title(title: string): void {
    this.name = title;
    this.chat.tell({ type: "title", title });
  }

  remember(conversation: Conversation | undefined): void {
    try {
      this.memory.conversation = conversation;
    } catch (error) {
      this.log(`the conversation can't be remembered: ${String(error)}`);
    }
  }

  log(line: string): void {
    this.output.info(line);
  }
}

const setContext = (name: string, value: boolean): Thenable<unknown> => vscode.commands.executeCommand("setContext", `codexBridge.${name}`, value);
