// A conversation with an app-server: its threads and turns. It depends neither on VS Code nor on the webview.
import type { Choice } from "./choice";
import { Connection, message, StartError } from "./connection";
import type { ChangesEntry, Entry } from "./entry";
import type { Gate } from "./gate";
import { parseNotification } from "./notification";
import { type Applied, errorCard, isErrorOfRequest, isTimeout, toCard } from "./policy";
import { whatOf } from "./approvalNotification";
import { actionsFor } from "./exit";
import type { Grant } from "./status";
import * as bridgeStrings from "./strings/bridge";
import * as changeStrings from "./strings/changes";
import * as chatStrings from "./strings/chat";
import * as requestStrings from "./strings/requests";
import { userContent } from "./items";
import { visible, visibleValue } from "./text";
import type { Change, ThreadResponse, Status, Thread, UserInput } from "./protocol";
import { openThread, readTurns } from "./opening";
import { PendingRequests } from "./pendingRequests";
import type { ServerRequest, Values } from "./serverRequest";
import type { Conversation, SessionObserver, SessionHost } from "./sessionHost";
import { SettingsWatch } from "./settingsWatch";
import { noInfo, type ThreadInfo, toKebabCase, toSettings } from "./threadInfo";
import { Transcript } from "./transcript";
import { TurnCard } from "./turnCard";
import { ExitError, type Id, type Peer } from "../rpc/peer";

/** Errors of turn/steer and turn/interrupt when the turn is already over. */
const turnMismatch = /no active turn|expected active turn/i;

export class Session {
  private readonly connection: Connection;
  private opening: Promise<string> | undefined;
  private threadId: string | undefined;
  private turnId: string | undefined;
  private rootTurnId: string | undefined;
  info: ThreadInfo = noInfo;
  private sentCount = 0;
  /** The shown part of a turn that ended with the program, and the notice about that end. */
  private unfinished: Entry[] = [];
  private readonly patchChanges = new Map<string, Change[]>();
  readonly transcript: Transcript;
  private readonly turnCard: TurnCard;
  private readonly settingsWatch = new SettingsWatch();
  readonly pendingRequests: PendingRequests;

  constructor(
    private readonly host: SessionHost,
    private readonly observer: SessionObserver,
    private conversation: Conversation | undefined,
  ) {
    this.connection = new Connection(host, {
      notification: (method, params) => this.notification(method, params),
      request: (method, params, id) => this.request(method, params, id),
      exited: (why) => this.serverExited(why),
      gate: (gate) => observer.gate(gate),
      log: (line) => observer.log(line),
    });
    this.transcript = new Transcript(observer);
    this.turnCard = new TurnCard(host, this.transcript);
    this.pendingRequests = new PendingRequests((requests: ServerRequest[]) => observer.requests(requests));
  }

  get isRunning(): boolean {
    return this.turnId !== undefined;
  }

  get current(): string | undefined {
    return this.threadId ?? this.conversation?.threadId;
  }

  get gate(): Gate {
    return this.connection.gate;
  }

  entries(): Entry[] {
    return this.transcript.entries();
  }

  /** Resumes the saved conversation of the folder, if there is one. */
  async continueConversation(): Promise<void> {
    if (this.conversation && !this.threadId) await this.open();
  }

  /** Starts the program if it is not running, and resumes the conversation. Its error is in the chat. */
  async recover(): Promise<void> {
    try {
      if (this.conversation) await this.open();
      else await this.connection.open();
    } catch (cause) {
      this.showError(cause);
    }
  }

  /** Starts a turn, or steers the running one. params: members of turn/start. Returns whether a turn started. */
  async send(text: string, input: UserInput[] = [{ type: "text", text, text_elements: [] }], params: object = {}): Promise<boolean> {
    const id = `sent-${Date.now()}-${++this.sentCount}`;
    this.transcript.pending(id, userContent(input));
    try {
      const threadId = await this.open();
      if (this.entries().every((entry) => entry.id === id || entry.kind === "notice")) this.observer.title(text);
      const peer = await this.connection.open();
      const common = { threadId, input, clientUserMessageId: id };
      const steer = async (expectedTurnId: string): Promise<boolean> => {
        try {
          await peer.request("turn/steer", { ...common, expectedTurnId });
          return true;
        } catch (cause) {
          if (!turnMismatch.test(message(cause))) throw cause;
          return false; // it is over
        }
      };
      const running = this.turnId;
      if (running && (await steer(running))) return false;
      await this.snapshot(threadId, text);
      if (this.turnId && this.turnId !== running && (await steer(this.turnId))) return false; // another message was quicker
      this.settingsWatch.request(params);
      this.began(threadId, (await peer.request<{ turn: { id: string } }>("turn/start", { ...common, ...params })).turn.id);
      return true;
    } catch (cause) {
      this.showError(cause);
      this.transcript.removePending(id);
      throw cause;
    }
  }

  /** Starts a turn without a message: a review, or a compaction. */
  async startTurn(method: "review/start" | "thread/compact/start", params: object): Promise<void> {
    try {
      const threadId = await this.open();
      const peer = await this.connection.open();
      await this.snapshot(threadId, method === "review/start" ? changeStrings.changes.review : changeStrings.changes.compaction);
      const { turn } = await peer.request<{ turn?: { id: string } }>(method, { threadId, ...params });
      if (turn) this.began(threadId, turn.id);
    } catch (cause) {
      this.showError(cause);
      throw cause;
    }
  }

  /** Takes the snapshot before a turn, or says why there is none. */
  private async snapshot(threadId: string, text: string): Promise<void> {
    const why = await this.host.beforeTurn?.(threadId, text);
    if (why) this.transcript.notice("warning", changeStrings.changes.noRestorePoint(why));
  }

  private began(threadId: string, turnId: string): void {
    if (this.completedTurns.has(turnId)) return;
    this.setTurn(turnId);
    this.host.turnBegan?.(threadId, turnId);
  }

  /** Sends another request. It starts the program if needed. */
  async call<T>(method: string, params: object): Promise<T> {
    return (await this.connection.open()).request<T>(method, params);
  }

  /** Reports whether the program is a bridge with this method. It starts the program if needed. */
  async hasMethod(method: string): Promise<boolean> {
    await this.connection.open();
    return this.connection.has(method);
  }

  /** Shows the error of a request in the chat: a refusal as a card, others as a notice. */
  showError(cause: unknown): void {
    if (cause instanceof ExitError) return; // the exit has a notice
    const card = errorCard(cause);
    if (card) this.transcript.policy(card);
    else this.transcript.notice("error", message(cause), cause instanceof StartError ? cause.actions : []);
  }

  async stop(): Promise<void> {
    if (!this.turnId || !this.threadId) return;
    const { threadId, turnId } = this;
    try {
      const peer = await this.connection.open();
      await peer.request("turn/interrupt", { threadId, turnId });
    } catch (cause) {
      if (!turnMismatch.test(message(cause))) this.showError(cause);
    }
  }

  /** Interrupts the turn and leaves the thread; the next message starts a new thread. */
  async newThread(): Promise<void> {
    await this.stop();
    this.unsubscribe();
    void this.showChanges(this.threadId, this.turnId);
    this.leaveThread();
    this.unfinished = [];
    this.setConversation(undefined);
    this.transcript.load([], []);
    this.observer.title("");
    this.observer.reset();
  }

  /** Leaves the thread and resumes another one. */
  async resume(threadId: string): Promise<void> {
    if (threadId === this.threadId) return;
    await this.stop();
    this.unsubscribe();
    void this.showChanges(this.threadId, this.turnId);
    this.leaveThread();
    this.unfinished = [];
    this.setConversation({ key: "", threadId });
    try {
      await this.open();
    } catch (cause) {
      this.transcript.load([], []);
      this.observer.reset();
      this.showError(cause);
      throw cause;
    }
  }

  /** Lists the threads of the folder, the newest first. */
  async list(archived = false): Promise<Thread[]> {
    const peer = await this.connection.open();
    const { data } = await peer.request<{ data: Thread[] }>("thread/list", { cwd: this.host.cwd, limit: 100, ...(archived && { archived }) });
    return data.toSorted((a, b) => b.updatedAt - a.updatedAt);
  }

  answer(id: string, choice: Choice, values: Values): boolean {
    return this.pendingRequests.answer(id, choice, values);
  }

  /** Stops the app-server. The next message restarts it and continues the conversation. */
  async close(): Promise<void> {
    const { threadId, turnId } = this;
    this.leaveThread();
    await this.connection.close();
    await this.showChanges(threadId, turnId); // nothing writes any more
  }

  /** Returns the status of a running bridge; undefined without one. */
  bridgeStatus(): Promise<Status | undefined> {
    return this.connection.bridgeStatus();
  }

  /** Sends a request of the bridge. It starts the program if needed. */
  askBridge<T>(method: string, params: object): Promise<T> {
    return this.connection.askBridge<T>(method, params);
  }

  /** Returns the remembered approvals; undefined without a running bridge. */
  grants(): Promise<Grant[] | undefined> {
    return this.connection.grants();
  }

  private serverExited(why: string): void {
    const unfinished = this.transcript.unfinished();
    void this.showChanges(this.threadId, this.turnId);
    this.leaveThread();
    const text = unfinished.length > 0 ? bridgeStrings.program.incomplete(why) : bridgeStrings.program.exited(why);
    const notice = this.transcript.notice("error", text, actionsFor(why, ["log"]));
    // Codex's record of the thread has neither the unfinished answer nor the reason.
    this.unfinished = unfinished.length > 0 ? [...this.entries().filter((entry) => unfinished.some((one) => one.id === entry.id)), notice] : [];
  }

  // Threads

  private open(): Promise<string> {
    this.opening ??= this.openThread().finally(() => {
      this.opening = undefined;
    });
    return this.opening;
  }

  private async openThread(): Promise<string> {
    const peer = await this.connection.open();
    if (this.threadId) return this.threadId;
    const settings = this.host.settings();
    const before = this.conversation;
    const shown = new Set(this.entries().map((entry) => entry.id));
    const { opened, key } = await openThread(this.host, this.connection, peer, before);
    const { thread } = opened;
    this.threadId = thread.id;
    this.settingsWatch.opened(opened);
    this.setInfo({ ...noInfo, ...toSettings(opened) });
    this.setConversation({ key, threadId: thread.id });
    if (before) await this.history(peer, thread, shown);
    const isExplained = this.entries().some((entry) => entry.kind === "policy" && entry.card === "changed" && !shown.has(entry.id));
    this.observer.title(thread.name ?? thread.preview);
    if (before?.key && thread.id !== before.threadId) {
      this.transcript.notice("warning", bridgeStrings.thread.lost(reason(opened)));
    }
    const approval = chatStrings.picker.approvalLabel(this.info.approvalPolicy);
    if (approval !== settings.approvalPolicy && !isExplained) {
      this.transcript.notice("info", bridgeStrings.thread.effectiveApproval(approval, settings.approvalPolicy));
    }
    const sandbox = toKebabCase(opened.sandbox.type);
    if (sandbox !== settings.sandbox && !isExplained) {
      this.transcript.notice("info", bridgeStrings.thread.effectiveSandbox(sandbox, settings.sandbox));
    }
    this.observer.threadsChanged();
    return thread.id;
  }

  /** Loads the turns of a thread. shown: the entries from before; cards of the policy that followed them stay. */
  private async history(peer: Peer, thread: Thread, shown: Set<string>): Promise<void> {
    const turns = await readTurns(peer, thread, (line) => this.observer.log(line));
    const stay = this.entries().filter((entry) => (entry.kind === "user" && entry.pending) || (entry.kind === "policy" && !shown.has(entry.id)));
    this.transcript.load(turns, stay, this.unfinished);
    this.unfinished = [];
    this.observer.reset();
    const last = turns.at(-1);
    if (last?.status === "inProgress") this.setTurn(last.id);
  }

  /** Ends the state of the thread: its turn, requests and running entries. */
  private leaveThread(): void {
    this.threadId = undefined;
    this.setTurn(undefined);
    this.settingsWatch.opened(undefined);
    this.setInfo(noInfo);
    this.pendingRequests.declineAll(() => true);
    this.transcript.failRunning();
    this.patchChanges.clear();
  }

  /** Lets Codex unload the thread that the chat leaves, and end its MCP servers. */
  private unsubscribe(): void {
    const { threadId, connection: { peer } } = this;
    if (!peer || !threadId) return;
    peer.request("thread/unsubscribe", { threadId }).catch((cause: unknown) => this.observer.log(`thread/unsubscribe: ${message(cause)}`));
  }

  private setConversation(conversation: Conversation | undefined): void {
    this.conversation = conversation;
    this.observer.saveConversation(conversation);
  }

  // Messages from the app-server

  /** The ids of completed turns. The response to turn/start may arrive after turn/completed. */
  private readonly completedTurns = new Set<string>();

  private notification(method: string, params: unknown): void {
    const notification = parseNotification(method, params);
    switch (notification.type) {
      case "statusChanged":
        void this.connection.refreshGate();
        return;
      case "resolved":
        this.pendingRequests.resolve(notification.id);
        return;
      case "policy":
        this.policyApplied(notification.applied);
        return;
      case "warning":
        if (this.threadId && (notification.threadId === null || notification.threadId === this.threadId)) this.transcript.notice("warning", notification.text);
        else this.observer.log(notification.text);
        return;
      case "threadsChanged":
        this.observer.threadsChanged();
        return;
      case "log":
        this.observer.log(notification.text);
        return;
      case "ignored":
        return;
    }
    if (notification.type === "item" && notification.item.type === "fileChange") this.patchChanges.set(notification.item.id, notification.item.changes ?? []);
    if (notification.threadId !== this.threadId) return; // from a subagent
    switch (notification.type) {
      case "item":
        this.transcript.item(notification.item, notification.complete);
        return;
      case "delta":
        this.transcript.delta(notification.itemId, notification.field, notification.text);
        return;
      case "turnStarted":
        this.setTurn(notification.turnId);
        this.rootTurnId = notification.rootTurnId;
        if (this.info.plan?.steps.every((step) => step.status === "completed")) this.setInfo({ ...this.info, plan: null });
        return;
      case "turnCompleted":
        this.completed(notification.turnId, notification.status, notification.error);
        return;
      case "turnDiff":
        if (!this.completedTurns.has(notification.turnId)) this.turnCard.show(notification.turnId, notification.diff);
        return;
      case "info":
        this.setInfo({ ...this.info, ...notification.info });
        return;
      case "settings":
        this.settingsUpdated(notification.settings);
        return;
      case "renamed":
        this.observer.title(notification.name);
        this.observer.threadsChanged();
        return;
      case "error":
        this.transcript.notice(notification.willRetry ? "warning" : "error", notification.text);
        return;
    }
  }

  private settingsUpdated(settings: unknown): void {
    const changes = this.settingsWatch.updated(settings);
    if (changes.length > 0) this.transcript.notice("info", bridgeStrings.thread.changedElsewhere(changes));
    this.setInfo({ ...this.info, ...toSettings(settings) });
  }

  private completed(turnId: string, status: string, error: string): void {
    this.completedTurns.add(turnId);
    this.settingsWatch.completed();
    if (this.turnId === turnId || this.rootTurnId === turnId || this.turnId === undefined) this.setTurn(undefined);
    this.pendingRequests.declineAll((request) => request.threadId === this.threadId);
    this.transcript.failRunning();
    if (status === "interrupted") this.transcript.notice("info", chatStrings.chat.stopped);
    const last = this.entries().at(-1);
    const isShown = last?.kind === "notice" && last.level === "error" && last.text === error;
    if (status === "failed" && !isShown) this.transcript.notice("error", error || chatStrings.chat.turnFailed);
    void this.showChanges(this.threadId, turnId);
    this.observer.threadsChanged();
    this.observer.completed();
    void this.connection.refreshGate();
  }

  /** Takes the snapshot after a turn, and shows what the turn changed if its thread is in the chat. */
  private async showChanges(threadId: string | undefined, turnId: string | undefined): Promise<void> {
    if (threadId !== undefined && turnId !== undefined) await this.turnCard.end(threadId, turnId, () => this.current === threadId);
  }

  updateChanges(entry: ChangesEntry): void {
    this.transcript.changes(entry);
  }

  /** Shows a decision of the policy as a card. It may be about a subagent, whose requests the chat shows, too. */
  private policyApplied(applied: Applied): void {
    this.observer.log(`policy: ${applied.verdict} ${applied.method}: ${JSON.stringify(applied)}`);
    if (isErrorOfRequest(applied)) return;
    const request = this.pendingRequests.find(applied.id, applied.itemId ?? "");
    const what = request ? whatOf(request, this.host.cwd) : this.patchText(applied.itemId);
    const card = toCard(applied, what);
    if (!card) return;
    this.transcript.policy(card);
    if (isTimeout(applied) && request) this.pendingRequests.declineAll((one) => one.id === request.id);
  }

  private patchText(itemId: string | undefined): string {
    return (this.patchChanges.get(itemId ?? "") ?? []).map((change) => change.path).join(", ");
  }

  private request(method: string, params: unknown, id: Id): Promise<unknown> | undefined {
    if (method === "item/tool/call") {
      const { tool, arguments: input } = params as { tool: string; arguments: unknown };
      return this.host.callTool(tool, input);
    }
    const { itemId = "", command, bridge } = (params ?? {}) as { itemId?: string; command?: string; bridge?: { answeredBy?: string } };
    if (bridge?.answeredBy && !this.connection.isPlain) {
      this.transcript.notice("info", requestStrings.request.waitsElsewhere(visible(bridge.answeredBy), visibleValue(command ?? this.patchText(itemId))));
      return new Promise(() => undefined); // the other client's answer ends it
    }
    return this.pendingRequests.add(id, method, params, this.patchChanges.get(itemId) ?? [], this.connection.keeper);
  }

  private setInfo(info: ThreadInfo): void {
    this.info = info;
    this.observer.info(info);
  }

  private setTurn(turnId: string | undefined): void {
    const changed = (turnId === undefined) !== (this.turnId === undefined);
    this.turnId = turnId;
    if (changed) this.observer.running(turnId !== undefined);
  }
}

function reason(opened: ThreadResponse): string {
  return opened.bridge?.reason ? ` (${opened.bridge.reason})` : "";
}

