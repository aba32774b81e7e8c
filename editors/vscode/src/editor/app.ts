// Connects the session with the views of VS Code.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import * as vscode from "vscode";
import { escapeLinks } from "../core/approvalNotification";
import { parseOrigin } from "../core/policy";
import type { Status } from "../core/protocol";
import type { Grant } from "../core/status";
import * as strings from "../core/strings";
import type { Choice } from "../core/choice";
import type { ServerRequest } from "../core/serverRequest";
import type { Entry, DeltaField } from "../core/entry";
import { toGate, type Gate } from "../core/gate";
import { choose } from "../core/program";
import { Session } from "../core/session";
import type { Conversation, SessionObserver, SessionHost } from "../core/sessionHost";
import { start } from "../rpc/child";
import { Chat } from "../view/chat";
import type { FromPage, PageState } from "../view/messages";
import { Diffs, scheme } from "./diffs";
import { find } from "./settings";
import { blocked, folder } from "./folder";
import { ConversationStore } from "./conversationStore";
import { openPlace, openSettings } from "./policyCommands";
import { ApprovalNotifications } from "./approvalNotifications";
import * as settings from "./settings";
import { StatusBar } from "./statusBar";
import { Threads } from "./threads";
import * as tools from "./tools";

export class App implements SessionObserver {
  readonly status = new StatusBar();
  readonly chat: Chat;
  readonly threadTree: Threads;
  private readonly diffs: Diffs;
  private readonly notifications: ApprovalNotifications;
  private readonly store: ConversationStore;
  private session: Session | undefined;
  private threadTitle = "";

  constructor(
    private readonly context: vscode.ExtensionContext,
    readonly output: vscode.LogOutputChannel,
  ) {
    this.store = new ConversationStore(context.storageUri?.fsPath);
    this.diffs = new Diffs(folder() ?? "");
    this.chat = new Chat(context.extensionUri, {
      state: () => this.pageState(),
      message: (message) => this.handlePageMessage(message),
      shown: () => void this.shown(),
      visibilityChanged: () => this.notifyRequests(),
    });
    this.threadTree = new Threads(
      () => this.session?.list() ?? Promise.resolve([]),
      () => this.session?.current,
      (line) => this.log(line),
    );
    this.notifications = new ApprovalNotifications({
      answer: (id, choice) => this.answer(id, choice),
      diff: (id) => void this.showDiff(id),
      chat: () => void this.chat.focus(),
    });
    context.subscriptions.push(
      this.status,
      vscode.workspace.registerTextDocumentContentProvider(scheme, this.diffs),
      vscode.window.registerWebviewViewProvider(Chat.id, this.chat),
      vscode.window.registerTreeDataProvider("codexBridge.threads", this.threadTree),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.startSession()),
    );
    this.startSession();
  }

  /** Creates the session if the folder allows one. It starts no program yet. */
  private startSession(): void {
    const cwd = folder();
    const why = blocked();
    if (why || cwd === undefined) {
      this.gate(toGate({ state: "stopped", why: why?.text ?? "" }));
    } else {
      this.session ??= new Session(this.host(cwd), this, this.store.conversation);
      this.gate(this.session.gate);
    }
    this.chat.reset();
    this.threadTree.refresh();
  }

  private host(cwd: string): SessionHost {
    return {
      cwd,
      version: String((this.context.extension.packageJSON as { version: string }).version),
      settings: settings.threads,
      start: (handlers) => {
        const program = choose(settings.programs(), find);
        this.log(`starting ${program.command} ${program.args.join(" ")} in ${cwd}`);
        return { program, child: start(program, cwd, handlers, (line) => this.log(line)) };
      },
      tools: () => (settings.editorTools() ? tools.definitions : []),
      callTool: (name, input) => tools.call(cwd, name, input),
      newKey: () => `vscode/${randomUUID()}`,
      pause: (ms) => sleep(ms),
    };
  }

  // Commands

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

  async newThread(): Promise<void> {
    await this.session?.newThread();
    this.threadTree.refresh();
    await this.chat.focus();
  }

  stop(): void {
    void this.session?.stop();
  }

  threadsChanged(): void {
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
    await this.session?.continueConversation().catch((cause: unknown) => this.log(String(cause)));
    this.threadTree.refresh();
  }

  /**
   * Answers the request of the active diff, else the only pending request. It opens the chat if the request is ambiguous,
   * and does not accept what the user has not in view: a diff shows the patch, but not what leaves the sandbox.
   */
  answerCurrent(choice: Choice, diff?: vscode.Uri): void {
    const requests = this.session?.pendingRequests.list() ?? [];
    const active = this.diffs.request(diff);
    const request = active === undefined ? (requests.length === 1 ? requests[0] : undefined) : requests.find((r) => r.id === active);
    const inView = request !== undefined && ((active !== undefined && request.leaves === "") || this.isInView(request.id));
    if (request && request.fields.length === 0 && request.choices.includes(choice) && (choice === "decline" || inView)) this.answer(request.id, choice);
    else void this.chat.focus();
  }

  private isInView(id: string): boolean {
    return this.chat.visible && (this.session?.pendingRequests.wasSeen(id) ?? false);
  }

  // The policy

  get threadId(): string | undefined {
    return this.session?.current;
  }

  async bridgeStatus(): Promise<Status | undefined> {
    return this.session?.bridgeStatus();
  }

  async grants(): Promise<Grant[] | undefined> {
    return this.session?.grants();
  }

  /** Sends a request of the bridge. */
  async askBridge<T>(method: string, params: object): Promise<T> {
    if (!this.session) throw new Error(blocked()?.text ?? strings.program.needsBridge);
    return this.session.askBridge<T>(method, params);
  }

  /** Opens the file of a decision on a card. The webview names the card, not the file. */
  private async openPolicy(id: string, index: number): Promise<void> {
    const entry = this.session?.entries().find((one) => one.id === id);
    const place = entry?.kind === "policy" ? parseOrigin(entry.decisions[index]?.where ?? "") : undefined;
    if (place) await openPlace(place);
  }

  private async runNotice(id: string): Promise<void> {
    const entry = this.session?.entries().find((one) => one.id === id);
    const action = entry?.kind === "notice" ? entry.action : undefined;
    if (action === "settings") await openSettings();
    else if (action === "log") this.output.show();
    else if (action) await openPlace(action);
  }

  async showDiff(id?: string): Promise<void> {
    const pendingRequests = this.session?.pendingRequests;
    const request = pendingRequests?.list().find((r) => (id === undefined ? r.kind === "patch" : r.id === id));
    if (pendingRequests && request) await this.diffs.show(request.id, pendingRequests.changes(request.id));
  }

  async close(): Promise<void> {
    await this.session?.close();
  }

  private answer(id: string, choice: Choice, values: Record<string, string> = {}): boolean {
    return this.session?.answer(id, choice, values) ?? false;
  }

  // The webview

  private pageState(): PageState {
    return {
      entries: this.session?.entries() ?? [],
      requests: this.session?.pendingRequests.list() ?? [],
      running: this.session?.isRunning ?? false,
      title: this.threadTitle,
      folder: folder() ?? "",
      blocked: blocked(),
    };
  }

  private handlePageMessage(message: FromPage): void {
    switch (message.type) {
      case "ready":
        return;
      case "send":
        void this.send(message.text).then((ok) => this.chat.send({ type: "sent", text: message.text, ok }));
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
      case "openPolicy":
        void this.openPolicy(message.id, message.index);
        return;
      case "notice":
        void this.runNotice(message.id);
        return;
      case "seen":
        if (this.chat.visible) this.session?.pendingRequests.markSeen(message.ids);
        return;
      case "drafted":
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
      await this.session?.continueConversation();
    } catch (cause) {
      this.session?.showError(cause);
    }
  }

  // SessionObserver

  entry(entry: Entry): void {
    this.chat.send({ type: "entry", entry });
    if (entry.kind === "policy" && entry.card === "expired" && !this.chat.visible) void this.notifyExpired(entry.decisions[0]?.what ?? "");
  }

  append(id: string, field: DeltaField, text: string): void {
    this.chat.append(id, field, text);
  }

  remove(id: string): void {
    this.chat.send({ type: "remove", id });
  }

  reset(): void {
    this.chat.reset();
  }

  requests(requests: ServerRequest[]): void {
    this.chat.send({ type: "requests", requests });
    this.chat.badge(requests.length);
    this.status.waiting(requests.length);
    this.notifyRequests();
    void setContext("requestPending", requests.length > 0);
    void setContext("patchPending", requests.some((request) => request.kind === "patch"));
    void this.diffs.close(requests.map((request) => request.id));
    const newest = requests.at(-1);
    if (newest?.kind === "patch" && newest.id !== this.openedPatch && settings.openDiff()) {
      this.openedPatch = newest.id;
      void this.showDiff(newest.id);
    }
  }

  /** Shows the pending requests as notifications, also those that were in view before the chat was hidden. */
  private notifyRequests(): void {
    const wanted = settings.notifications();
    this.notifications.update(this.session?.pendingRequests.list() ?? [], wanted === "always" || (wanted === "whenHidden" && !this.chat.visible));
  }

  private async notifyExpired(what: string): Promise<void> {
    const text = escapeLinks(strings.notification.expired(what.split("\n")[0]!.slice(0, 200)));
    if (await vscode.window.showWarningMessage(text, strings.notification.openChat)) await this.chat.focus();
  }

  /** The id of the last request whose diff was opened, so that it opens once. */
  private openedPatch = "";

  running(running: boolean): void {
    this.chat.send({ type: "running", running });
    this.status.turn(running);
    void setContext("running", running);
  }

  gate(gate: Gate): void {
    this.status.show(gate);
    if (gate.level === "broken") this.output.error(gate.why);
    void setContext("connected", gate.level === "on" || gate.short === "gate ready");
  }

  title(title: string): void {
    this.threadTitle = title;
    this.chat.send({ type: "title", title });
  }

  saveConversation(conversation: Conversation | undefined): void {
    try {
      this.store.conversation = conversation;
    } catch (error) {
      this.log(`the conversation can't be saved: ${String(error)}`);
    }
  }

  log(line: string): void {
    this.output.info(line);
  }
}

const setContext = (name: string, value: boolean): Thenable<unknown> => vscode.commands.executeCommand("setContext", `codexBridge.${name}`, value);
