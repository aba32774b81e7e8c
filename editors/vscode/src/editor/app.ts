// Connects the session with the views of VS Code.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import * as vscode from "vscode";
import { escapeLinks } from "../core/approvalNotification";
import type { Status } from "../core/protocol";
import type { Grant } from "../core/status";
import * as bridgeStrings from "../core/strings/bridge";
import * as requestStrings from "../core/strings/requests";
import type { Entry, DeltaField } from "../core/entry";
import { toGate, type Gate } from "../core/gate";
import { choose } from "../core/program";
import { toInput } from "../core/attachments";
import { toTurnParams } from "../core/choices";
import type { Session } from "../core/session";
import type { SessionHost } from "../core/sessionHost";
import type { ThreadInfo } from "../core/threadInfo";
import { visibleLine } from "../core/text";
import { start } from "../rpc/child";
import { Chat } from "../view/chat";
import type { PageState } from "../view/messages";
import { openChat, selectChat } from "./chatCommands";
import { Chats, type Front, type OpenChat } from "./chats";
import { TurnChanges } from "./changes";
import { Composing, type ComposingHost } from "./composing";
import { exists } from "./context";
import { scheme } from "./diffs";
import { editScheme } from "./patchEdits";
import { blocked, folderName, folders } from "./folder";
import { ConversationStore } from "./conversationStore";
import { handleMessage, pageState } from "./page";
import { Requests } from "./requests";
import { setContext } from "./setContext";
import * as settings from "./settings";
import { StatusBar } from "./statusBar";
import { Threads } from "./threads";
import * as tools from "./tools";

export class App implements Front, ComposingHost {
  readonly status = new StatusBar();
  readonly chat: Chat;
  readonly threadTree: Threads;
  readonly requests: Requests;
  private readonly store: ConversationStore;
  readonly composing: Composing;
  readonly changes: TurnChanges;
  chats: Chats | undefined;
  /** Whether the list of threads shows the archived ones. */
  private archived = false;

  constructor(
    private readonly context: vscode.ExtensionContext,
    readonly output: vscode.LogOutputChannel,
  ) {
    this.store = new ConversationStore(context.storageUri?.fsPath);
    this.composing = new Composing(this, context.storageUri?.fsPath);
    this.requests = new Requests(this);
    const stores = context.globalStorageUri && vscode.Uri.joinPath(context.globalStorageUri, "checkpoints").fsPath;
    this.changes = new TurnChanges({
      isRunning: () => this.chats?.list.some((chat) => chat.session.isRunning) ?? false,
      update: (threadId, entry) => this.chats?.withThread(threadId)?.session.updateChanges(entry),
    }, stores);
    this.chat = new Chat(context.extensionUri, {
      state: () => pageState(this),
      message: (message) => handleMessage(this, message),
      shown: () => void this.shown(),
      visibilityChanged: () => this.requests.notify(),
    });
    this.threadTree = new Threads(
      () => this.session?.list(this.archived) ?? Promise.resolve([]),
      () => this.session?.current,
      () => folderName(this.folder),
      (line) => this.log(line),
    );
    context.subscriptions.push(
      this.status,
      this.changes,
      vscode.workspace.registerTextDocumentContentProvider(scheme, this.requests.diffs),
      vscode.workspace.registerFileSystemProvider(editScheme, this.requests.edits, { isCaseSensitive: true }),
      vscode.window.registerWebviewViewProvider(Chat.id, this.chat),
      (this.threadTree.view = vscode.window.createTreeView("codexBridge.threads", { treeDataProvider: this.threadTree })),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.startSession()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.startSession()),
    );
    this.startSession();
  }

  /** Creates the session if the folder allows one. It starts no program yet. */
  private startSession(): void {
    const why = blocked();
    if (why) {
      this.gate(toGate({ state: "stopped", why: why.text }));
    } else {
      this.chats ??= new Chats(this, (cwd) => this.host(cwd), this.store.saved, folders());
      this.gate(this.chats.current.session.gate);
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
        const program = choose(settings.programs(), settings.find);
        this.log(`starting ${program.command} ${program.args.join(" ")} in ${cwd}`);
        return { program, child: start(program, cwd, handlers, (line) => this.log(line)) };
      },
      tools: () => (settings.editorTools() ? tools.definitions : []),
      callTool: (name, input) => tools.call(cwd, name, input),
      beforeTurn: (threadId, text) => this.changes.beforeTurn(cwd, threadId, text),
      turnBegan: (threadId, turnId) => void this.changes.began(threadId, turnId),
      afterTurn: (threadId, turnId, patched) => this.changes.afterTurn(threadId, turnId, patched),
      newKey: () => `vscode/${randomUUID()}`,
      pause: (ms) => sleep(ms),
    };
  }

  // Commands

  get session(): Session | undefined {
    return this.current?.session;
  }

  /** The folder of the chat that is shown; "" if there is none. */
  get folder(): string {
    return this.current?.folder ?? "";
  }

  /** The chat that is shown. */
  get current(): OpenChat | undefined {
    return this.chats?.current;
  }

  /** Sends a message with its context. */
  async send(text: string): Promise<boolean> {
    const chat = this.current;
    if (!chat) return false;
    const attachments = chat.attachments.take();
    const input = toInput(text, attachments, (path) => exists(chat.folder, path));
    if (input.length === 0) return false;
    const chosen = chat.chosen;
    try {
      const started = await chat.session.send(text || attachments[0]!.label, input, toTurnParams(chosen));
      if (started && chat.chosen === chosen) this.composing.setChosen(chat, {});
      chat.keep(attachments);
      return true;
    } catch (cause) {
      chat.attachments.restore(attachments);
      this.log(`send: ${String(cause)}`);
      return false;
    }
  }

  async newThread(): Promise<void> {
    await this.session?.newThread();
    this.threadTree.refresh();
    await this.chat.focus();
  }

  /** Starts a turn without a message; its error is in the chat. */
  async startTurn(method: "review/start" | "thread/compact/start", params: object = {}): Promise<void> {
    await this.chat.focus();
    await this.session?.startTurn(method, params).catch((cause: unknown) => this.log(`${method}: ${String(cause)}`));
  }

  review(instructions = ""): Promise<void> {
    return this.startTurn("review/start", { target: instructions ? { type: "custom", instructions } : { type: "uncommittedChanges" } });
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

  toggleArchived(): void {
    this.archived = !this.archived;
    this.threadTree.setArchived(this.archived);
    setContext("archivedShown", this.archived);
  }

  /** Sends a request to the program of a thread's chat, else to that of the shown one. */
  async callFor<T>(threadId: string, method: string, params: object): Promise<T> {
    const session = this.chats?.withThread(threadId)?.session ?? this.session;
    if (!session) throw new Error(blocked()?.text ?? bridgeStrings.program.notStarted);
    return session.call<T>(method, params);
  }

  call<T>(method: string, params: object): Promise<T> {
    return this.callFor<T>("", method, params);
  }

  /** Leaves a thread that a chat shows. */
  async leave(threadId: string): Promise<void> {
    await this.chats?.withThread(threadId)?.session.newThread();
  }

  /** Shows a thread: in its chat if it is open, in another chat if this one is busy, else in place of this one's thread. */
  async resume(threadId: string): Promise<void> {
    const open = this.chats?.withThread(threadId);
    if (open) return selectChat(this, open);
    if (this.session?.isRunning) return openChat(this, { key: "", threadId });
    await this.chat.focus();
    try {
      await this.session?.resume(threadId);
    } catch (cause) {
      this.log(`resume: ${String(cause)}`);
    }
    this.threadTree.refresh();
  }

  async restart(): Promise<void> {
    await Promise.all(this.chats?.list.map((chat) => chat.session.close()) ?? []);
    await this.session?.continueConversation().catch((cause: unknown) => this.log(String(cause)));
    this.threadTree.refresh();
  }

  // The policy

  get threadId(): string | undefined {
    return this.session?.current;
  }

  get title(): string {
    return this.current?.threadTitle ?? "";
  }

  async bridgeStatus(): Promise<Status | undefined> {
    return this.session?.bridgeStatus();
  }

  async grants(): Promise<Grant[] | undefined> {
    return this.session?.grants();
  }

  /** Sends a request of the bridge. */
  async askBridge<T>(method: string, params: object): Promise<T> {
    if (!this.session) throw new Error(blocked()?.text ?? bridgeStrings.program.needsBridge);
    return this.session.askBridge<T>(method, params);
  }

  async close(): Promise<void> {
    await Promise.all(this.chats?.list.map((chat) => chat.close()) ?? []);
  }

  /** Continues the conversation of the chat that is shown. */
  async shown(): Promise<void> {
    try {
      await this.session?.continueConversation();
    } catch (cause) {
      this.session?.showError(cause);
    }
    if (this.session) await this.changes.warm(this.folder).catch((cause: unknown) => this.log(`checkpoints: ${String(cause)}`));
  }

  // Front

  entry(entry: Entry): void {
    this.chat.send({ type: "entry", entry });
    if (!this.chat.visible) this.hiddenEntry(entry);
  }

  hiddenEntry(entry: Entry): void {
    if (entry.kind === "policy" && entry.card === "expired") void this.notifyExpired(entry.decisions[0]?.what ?? "");
  }

  append(id: string, field: DeltaField, text: string): void {
    this.chat.append(id, field, text);
  }

  remove(id: string): void {
    this.chat.send({ type: "remove", id });
  }

  reset(): void {
    this.chat.reset();
    setContext("running", this.session?.isRunning ?? false);
  }

  tabs(): PageState["tabs"] {
    return this.chats?.list.map((chat) => withFolder(chat)) ?? [];
  }

  showTabs(): void {
    this.chat.send({ type: "tabs", tabs: this.tabs(), chat: this.current?.id ?? "" });
  }

  requestsChanged(): void {
    this.requests.changed();
  }

  private async notifyExpired(what: string): Promise<void> {
    const text = escapeLinks(requestStrings.notification.expired(what.split("\n")[0]!.slice(0, 200)));
    if (await vscode.window.showWarningMessage(text, requestStrings.notification.openChat)) await this.chat.focus();
  }

  runningChanged(chat: OpenChat): void {
    if (chat === this.current) {
      this.chat.send({ type: "running", since: chat.since });
      setContext("running", chat.since > 0);
    }
    this.status.turn(this.chats?.list.some((one) => one.since > 0) ?? false);
    this.showTabs();
  }

  /** Says that a turn has ended, if the user does not see it. */
  turnCompleted(chat: OpenChat): void {
    const isSeen = this.chat.visible && vscode.window.state.focused && chat === this.current;
    if (!isSeen && settings.turnNotifications()) void this.notifyCompleted(chat);
  }

  private async notifyCompleted(chat: OpenChat): Promise<void> {
    const text = escapeLinks(requestStrings.notification.finished(visibleLine(chat.threadTitle ? chat.name : "")));
    if (await vscode.window.showInformationMessage(text, requestStrings.notification.openChat)) await selectChat(this, chat);
  }

  info(info: ThreadInfo): void {
    this.chat.send({ type: "info", info, chosen: this.current?.chosen ?? {} });
  }

  chipsChanged(chat: OpenChat): void {
    if (chat !== this.current) return;
    const chips = chat.attachments.chips();
    this.chat.send({ type: "chips", chips });
  }

  deleteFile(path: string): void {
    this.composing.images.delete(path);
  }

  gate(gate: Gate): void {
    this.status.show(gate);
    if (gate.level === "broken") this.output.error(gate.why);
    setContext("connected", gate.level === "on" || gate.short === "gate ready");
  }

  titleChanged(chat: OpenChat): void {
    if (chat === this.current) this.chat.send({ type: "title", title: chat.threadTitle });
    this.showTabs();
    this.save();
  }

  save(): void {
    if (!this.chats) return;
    try {
      this.store.saved = this.chats.saved;
    } catch (error) {
      this.log(`the conversation can't be saved: ${String(error)}`);
    }
  }

  log(line: string): void {
    this.output.info(line);
  }
}

/** Returns the tab of a chat, with the name of its folder if there are several. */
function withFolder({ tab, folder }: OpenChat): PageState["tabs"][number] {
  const name = folderName(folder);
  return name === "" ? tab : { ...tab, title: bridgeStrings.folder.chat(name, tab.title) };
}
