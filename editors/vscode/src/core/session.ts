// A conversation with an app-server: its connection, threads and turns. It depends neither on VS Code nor on the webview.
import type { Choice } from "./choice";
import { type Keeper, type ServerRequest, type Values } from "./serverRequest";
import type { ChangesEntry, Entry, NoticeAction } from "./entry";
import { toGate, type ServerState } from "./gate";
import { parseNotification } from "./notification";
import { type Applied, errorCard, isErrorOfRequest, isTimeout, toCard } from "./policy";
import { whatOf } from "./approvalNotification";
import { actionsFor } from "./exit";
import type { Grant } from "./status";
import * as strings from "./strings";
import { userContent } from "./items";
import type { Change, InitializeResponse, Item, ThreadResponse, Status, Thread, UserInput } from "./protocol";
import { PendingRequests } from "./pendingRequests";
import type { Conversation, SessionObserver, SessionHost } from "./sessionHost";
import { visibleValue } from "./text";
import { noInfo, type ThreadInfo, toKebabCase, toSettings } from "./threadInfo";
import { Transcript } from "./transcript";
import { parseTurnDiff } from "./turnDiff";
import type { Child } from "../rpc/child";
import { ExitError, type Id, type Peer } from "../rpc/peer";

/** Errors of Codex 0.169.0 for a thread that does not exist. */
const threadNotFound = /no rollout found|thread not found|invalid session id/i;
/** Errors for a thread that another process holds: after a reload of the window, the previous process, which exits soon. */
const heldByProcess = /already has an active writer/i;
const heldByProcessCode = -32015;
/** How long to wait for that process, in milliseconds. */
const maxWait = 10_000;
/** Errors of turn/steer and turn/interrupt when the turn is already over. */
const turnMismatch = /no active turn|expected active turn/i;

export class Session {
  private child: Child | undefined;
  private started: Child | undefined; // the child that has answered initialize
  private connecting: Promise<Peer> | undefined;
  private opening: Promise<string> | undefined;
  private methods = new Set<string>();
  private threadId: string | undefined;
  private turnId: string | undefined;
  private rootTurnId: string | undefined;
  info: ThreadInfo = noInfo;
  private sentCount = 0;
  private server: ServerState = { state: "stopped", why: strings.program.notStarted };
  private mode: string | undefined; // the bridge's policy.mode; undefined: plain codex
  private status: Status | undefined;
  /** The shown part of a turn that ended with the program, and the notice about that end. */
  private unfinished: Entry[] = [];
  private readonly patchChanges = new Map<string, Change[]>();
  /** The card of the running turn, and the paths of its files. */
  private changesSoFar: ChangesEntry | undefined;
  private patched: string[] = [];
  readonly transcript: Transcript;
  readonly pendingRequests: PendingRequests;

  constructor(
    private readonly host: SessionHost,
    private readonly observer: SessionObserver,
    private conversation: Conversation | undefined,
  ) {
    this.transcript = new Transcript(observer);
    this.pendingRequests = new PendingRequests((requests: ServerRequest[]) => observer.requests(requests));
  }

  get isRunning(): boolean {
    return this.turnId !== undefined;
  }

  get current(): string | undefined {
    return this.threadId ?? this.conversation?.threadId;
  }

  get gate(): ReturnType<typeof toGate> {
    return toGate(this.server);
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
      else await this.connect();
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
      const peer = await this.connect();
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
      const peer = await this.connect();
      await this.snapshot(threadId, method === "review/start" ? strings.changes.review : strings.changes.compaction);
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
    if (why) this.transcript.notice("warning", strings.changes.noRestorePoint(why));
  }

  private began(threadId: string, turnId: string): void {
    if (this.completedTurns.has(turnId)) return;
    this.setTurn(turnId);
    this.host.turnBegan?.(threadId, turnId);
  }

  /** Sends another request. It starts the program if needed. */
  async call<T>(method: string, params: object): Promise<T> {
    return (await this.connect()).request<T>(method, params);
  }

  /** Reports whether the program is a bridge with this method. It starts the program if needed. */
  async hasMethod(method: string): Promise<boolean> {
    await this.connect();
    return this.methods.has(method);
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
      const peer = await this.connect();
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
    const peer = await this.connect();
    const { data } = await peer.request<{ data: Thread[] }>("thread/list", { cwd: this.host.cwd, limit: 100, ...(archived && { archived }) });
    return data.toSorted((a, b) => b.updatedAt - a.updatedAt);
  }

  answer(id: string, choice: Choice, values: Values): boolean {
    return this.pendingRequests.answer(id, choice, values);
  }

  /** Stops the app-server. The next message restarts it and continues the conversation. */
  async close(): Promise<void> {
    const child = this.child;
    this.child = undefined;
    this.connecting = undefined;
    const { threadId, turnId } = this;
    this.leaveThread();
    this.setServer({ state: "stopped", why: strings.program.stopped });
    await child?.stop();
    await this.showChanges(threadId, turnId); // nothing writes any more
  }

  async refreshGate(): Promise<void> {
    const child = this.child;
    if (!child || !this.methods.has("bridge/status")) return;
    try {
      const status = await child.peer.request<Status>("bridge/status", {});
      if (child === this.child) {
        this.mode = status.policy.mode;
        this.status = status;
        this.setServer({ state: "bridge", status });
      }
    } catch (cause) {
      this.observer.log(`bridge/status: ${message(cause)}`);
    }
  }

  /** Returns the status of a running bridge; undefined without one. */
  async bridgeStatus(): Promise<Status | undefined> {
    await this.refreshGate();
    return this.child ? this.status : undefined;
  }

  /** Sends a request of the bridge. It starts the program if needed. */
  async askBridge<T>(method: string, params: object): Promise<T> {
    const peer = await this.connect();
    if (this.mode === undefined) throw new Error(strings.program.needsBridge);
    if (!this.methods.has(method)) throw new Error(strings.program.oldBridge(method));
    return peer.request<T>(method, params);
  }

  /** Returns the remembered approvals; undefined without a running bridge. */
  async grants(): Promise<Grant[] | undefined> {
    if (!this.child || !this.methods.has("bridge/grant/list")) return undefined;
    return (await this.askBridge<{ grants: Grant[] }>("bridge/grant/list", {})).grants;
  }

  // Connecting

  private connect(): Promise<Peer> {
    this.connecting ??= this.launch().catch((cause: unknown) => {
      this.connecting = undefined;
      const child = this.child;
      this.child = undefined;
      void child?.stop();
      if (cause instanceof ExitError && child === undefined) throw cause; // serverExited has shown it
      const why = message(cause);
      this.setServer({ state: "failed", why });
      throw errorCard(cause) ? cause : new StartError(why, actionsFor(why, []));
    });
    return this.connecting;
  }

  private async launch(): Promise<Peer> {
    this.setServer({ state: "starting" });
    this.status = undefined;
    this.mode = undefined;
    const { program, child } = this.host.start({
      notification: (method, params) => this.notification(method, params),
      request: (method, params, id) => this.request(method, params, id),
    });
    this.child = child;
    const ended = child.ended.then((why) => {
      if (this.child === child && this.started === child) this.serverExited(why);
      throw new Error(why);
    });
    ended.catch(() => undefined);
    const { peer } = child;
    const welcome = await Promise.race([
      ended,
      peer.request<InitializeResponse>("initialize", {
        clientInfo: { name: "codex_bridge_vscode", title: strings.client, version: this.host.version },
        capabilities: { experimentalApi: true, ...(program.kind === "bridge" && { bridge: { version: 1, tools: true, elicitations: true } }) },
      }),
    ]);
    peer.notify("initialized");
    this.methods = new Set(welcome.bridge?.methods ?? []);
    if (program.kind === "bridge" && !welcome.bridge) throw new Error(strings.program.notBridge(program.command));
    this.mode = welcome.bridge?.policy?.mode ?? (welcome.bridge ? "enforce" : undefined);
    this.started = child;
    if (program.kind === "codex") this.setServer({ state: "plain" });
    else await this.refreshGate();
    if (this.methods.has("bridge/tool/register") && this.host.tools().length > 0) {
      await peer.request("bridge/tool/register", { tools: this.host.tools() });
    }
    return peer;
  }

  private serverExited(why: string): void {
    this.child = undefined;
    this.connecting = undefined;
    const unfinished = this.transcript.unfinished();
    void this.showChanges(this.threadId, this.turnId);
    this.leaveThread();
    const text = unfinished.length > 0 ? strings.program.incomplete(why) : strings.program.exited(why);
    const notice = this.transcript.notice("error", text, actionsFor(why, ["log"]));
    // Codex's record of the thread has neither the unfinished answer nor the reason.
    this.unfinished = unfinished.length > 0 ? [...this.entries().filter((entry) => unfinished.some((one) => one.id === entry.id)), notice] : [];
    this.setServer({ state: "failed", why });
  }

  private setServer(server: ServerState): void {
    this.server = server;
    this.observer.gate(toGate(server));
  }

  // Threads

  private open(): Promise<string> {
    this.opening ??= this.openThread().finally(() => {
      this.opening = undefined;
    });
    return this.opening;
  }

  private async openThread(): Promise<string> {
    const peer = await this.connect();
    if (this.threadId) return this.threadId;
    const settings = this.host.settings();
    const common = {
      cwd: this.host.cwd,
      approvalPolicy: settings.approvalPolicy,
      sandbox: settings.sandbox,
      ...(settings.model && { model: settings.model }),
    };
    const sessions = this.methods.has("bridge/binding/read");
    const before = this.conversation;
    const shown = new Set(this.entries().map((entry) => entry.id));
    let opened: ThreadResponse | undefined;
    if (before && !(sessions && before.key)) {
      try {
        const method = before.isFork ? "thread/fork" : "thread/resume";
        opened = await this.retryWhileHeld(() => peer.request<ThreadResponse>(method, { ...common, threadId: before.threadId }));
      } catch (cause) {
        if (!threadNotFound.test(message(cause)) || before.key === "") throw cause; // the user chose this thread; do not start another one
      }
    }
    const key = before?.key || this.host.newKey();
    opened ??= await this.retryWhileHeld(() =>
      peer.request<ThreadResponse>("thread/start", {
        ...common,
        ...(sessions ? { bridge: { sessionKey: key } } : {}),
        ...(this.methods.size === 0 && this.host.tools().length > 0 ? { dynamicTools: this.host.tools() } : {}),
      }),
    );
    const { thread } = opened;
    this.threadId = thread.id;
    this.setInfo({ ...noInfo, ...toSettings(opened) });
    this.setConversation({ key: before && before.key === "" ? "" : key, threadId: thread.id });
    if (before) await this.history(peer, thread, shown);
    const isExplained = this.entries().some((entry) => entry.kind === "policy" && entry.card === "changed" && !shown.has(entry.id));
    this.observer.title(thread.name ?? thread.preview);
    if (before?.key && thread.id !== before.threadId) {
      this.transcript.notice("warning", strings.thread.lost(reason(opened)));
    }
    const approval = strings.picker.approvalLabel(this.info.approvalPolicy);
    if (approval !== settings.approvalPolicy && !isExplained) {
      this.transcript.notice("info", strings.thread.effectiveApproval(approval, settings.approvalPolicy));
    }
    const sandbox = toKebabCase(opened.sandbox.type);
    if (sandbox !== settings.sandbox && !isExplained) {
      this.transcript.notice("info", strings.thread.effectiveSandbox(sandbox, settings.sandbox));
    }
    this.observer.threadsChanged();
    return thread.id;
  }

  /** Repeats open while another process holds the thread, for at most maxWait. */
  private async retryWhileHeld<T>(open: () => Promise<T>): Promise<T> {
    for (let waited = 0; ; waited += 250) {
      try {
        return await open();
      } catch (cause) {
        const busy = (cause as { code?: unknown }).code === heldByProcessCode || heldByProcess.test(message(cause));
        if (!busy || waited >= maxWait) throw cause;
      }
      await this.host.pause(250);
    }
  }

  /** Loads the turns of a thread. shown: the entries from before; cards of the policy that followed them stay. */
  private async history(peer: Peer, thread: Thread, shown: Set<string>): Promise<void> {
    let { turns } = thread;
    if (turns.length === 0) {
      try {
        ({ thread: { turns } } = await peer.request<{ thread: Thread }>("thread/read", { threadId: thread.id, includeTurns: true }));
      } catch (cause) {
        this.observer.log(`thread/read: ${message(cause)}`); // fails for a thread without turns
      }
    }
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
    this.setInfo(noInfo);
    this.pendingRequests.declineAll(() => true);
    this.transcript.failRunning();
    this.patchChanges.clear();
  }

  /** Lets Codex unload the thread that the chat leaves, and end its MCP servers. */
  private unsubscribe(): void {
    const { child, threadId } = this;
    if (!child || !threadId) return;
    child.peer.request("thread/unsubscribe", { threadId }).catch((cause: unknown) => this.observer.log(`thread/unsubscribe: ${message(cause)}`));
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
        void this.refreshGate();
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
        this.showChangesSoFar(notification.turnId, notification.diff);
        return;
      case "info":
        this.setInfo({ ...this.info, ...notification.info });
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

  private completed(turnId: string, status: string, error: string): void {
    this.completedTurns.add(turnId);
    if (this.turnId === turnId || this.rootTurnId === turnId || this.turnId === undefined) this.setTurn(undefined);
    this.pendingRequests.declineAll((request) => request.threadId === this.threadId);
    this.transcript.failRunning();
    if (status === "interrupted") this.transcript.notice("info", strings.chat.stopped);
    const last = this.entries().at(-1);
    const isShown = last?.kind === "notice" && last.level === "error" && last.text === error;
    if (status === "failed" && !isShown) this.transcript.notice("error", error || strings.chat.turnFailed);
    void this.showChanges(this.threadId, turnId);
    this.observer.threadsChanged();
    this.observer.completed();
    void this.refreshGate();
  }

  /** Shows the files that the running turn has patched so far. */
  private showChangesSoFar(turnId: string, diff: string): void {
    if (this.completedTurns.has(turnId)) return;
    const changed = parseTurnDiff(diff, this.host.cwd);
    this.patched = changed.map((file) => file.path);
    const files = changed.map((file) => ({ ...file, path: visibleValue(file.path), note: "", hunks: 0, parts: [], state: "" as const }));
    const entry: ChangesEntry | undefined = files.length > 0 ? { kind: "changes", id: `changes-${turnId}`, phase: "running", files, uncovered: [] } : undefined;
    this.transcript.lastChanges(entry, this.changesSoFar);
    this.changesSoFar = entry;
  }

  /** Takes the snapshot after a turn, and shows what the turn changed if its thread is in the chat. */
  private async showChanges(threadId: string | undefined, turnId: string | undefined): Promise<void> {
    if (threadId === undefined || turnId === undefined) return;
    const { changesSoFar: soFar, patched } = this;
    this.changesSoFar = undefined;
    this.patched = [];
    let entry: ChangesEntry | undefined = soFar && { ...soFar, phase: "unrecorded" };
    try {
      entry = (await this.host.afterTurn?.(threadId, turnId, patched)) ?? entry;
    } catch (cause) {
      if (this.current === threadId) this.transcript.notice("warning", strings.changes.noRestorePoint(message(cause)));
    }
    const hasChanges = entry && entry.files.length + entry.uncovered.length > 0;
    if (this.current === threadId) this.transcript.lastChanges(hasChanges ? entry : undefined, soFar);
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

  /** Returns the program that keeps an answer for longer than once. */
  private get keeper(): Keeper {
    return this.mode === "enforce" ? "bridge" : "codex";
  }

  private request(method: string, params: unknown, id: Id): Promise<unknown> | undefined {
    if (method === "item/tool/call") {
      const { tool, arguments: input } = params as { tool: string; arguments: unknown };
      return this.host.callTool(tool, input);
    }
    const { itemId = "" } = (params ?? {}) as Partial<Item & { itemId: string }>;
    return this.pendingRequests.add(id, method, params, this.patchChanges.get(itemId) ?? [], this.keeper);
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

/** An error of the start, with the buttons that help. */
class StartError extends Error {
  constructor(text: string, readonly actions: NoticeAction[]) {
    super(text);
  }
}

function message(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function reason(opened: ThreadResponse): string {
  return opened.bridge?.reason ? ` (${opened.bridge.reason})` : "";
}

