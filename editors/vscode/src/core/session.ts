// A conversation with an app-server: connecting, threads, turns. It knows neither VS Code nor a page.
import { type Ask, type Choice, type Values } from "./serverRequest";
import type { Entry } from "./entry";
import { gateOf, type Server } from "./gate";
import { events } from "./notification";
import type { Change, Initialized, Item, Opened, Status, Thread } from "./protocol";
import { Questions } from "./pendingRequests";
import type { Conversation, Surface, World } from "./sessionHost";
import { Transcript } from "./transcript";
import type { Child } from "../rpc/child";
import type { Id, Peer } from "../rpc/peer";

/** A thread that Codex can't go on with; the words are those of codex 0.169.0. */
const gone = /no rollout found|thread not found|invalid session id/i;
/** Another process has the thread. After a reload of the window it is the one before, which ends soon. */
const held = /already has an active writer/i;
const heldCode = -32015;
const patience = 10_000;
const overtaken = /no active turn|expected active turn/i;

export class Session {
  private child: Child | undefined;
  private connecting: Promise<Peer> | undefined;
  private opening: Promise<string> | undefined;
  private methods = new Set<string>();
  private threadId: string | undefined;
  private turnId: string | undefined;
  private sent = 0;
  private server: Server = { state: "stopped", why: "Codex starts with the first message, or when the threads are shown." };
  private readonly changesOf = new Map<string, Change[]>();
  readonly transcript: Transcript;
  readonly questions: Questions;

  constructor(
    private readonly world: World,
    private readonly surface: Surface,
    private conversation: Conversation | undefined,
  ) {
    this.transcript = new Transcript(surface);
    this.questions = new Questions((asks: Ask[]) => surface.asks(asks));
  }

  get isRunning(): boolean {
    return this.turnId !== undefined;
  }

  get current(): string | undefined {
    return this.threadId ?? this.conversation?.threadId;
  }

  get gate(): ReturnType<typeof gateOf> {
    return gateOf(this.server);
  }

  entries(): Entry[] {
    return this.transcript.entries();
  }

  /** Goes on with the conversation of the folder, if there is one. */
  async reopen(): Promise<void> {
    if (this.conversation && !this.threadId) await this.open();
  }

  /** Starts a turn, or steers the one that runs. */
  async send(text: string): Promise<void> {
    const id = `sent-${Date.now()}-${++this.sent}`;
    this.transcript.pending(id, text);
    try {
      const threadId = await this.open();
      if (this.entries().every((entry) => entry.id === id || entry.kind === "notice")) this.surface.title(text);
      const peer = await this.connect();
      const input = [{ type: "text", text, text_elements: [] }];
      const common = { threadId, input, clientUserMessageId: id };
      if (this.turnId) {
        try {
          await peer.request("turn/steer", { ...common, expectedTurnId: this.turnId });
          return;
        } catch (cause) {
          if (!overtaken.test(message(cause))) throw cause;
        }
      }
      const { turn } = await peer.request<{ turn: { id: string } }>("turn/start", common);
      if (!this.ended.has(turn.id)) this.running(turn.id);
    } catch (cause) {
      this.transcript.unsent(id);
      this.transcript.notice("error", message(cause));
      throw cause;
    }
  }

  async stop(): Promise<void> {
    if (!this.turnId || !this.threadId) return;
    const { threadId, turnId } = this;
    try {
      await (await this.connect()).request("turn/interrupt", { threadId, turnId });
    } catch (cause) {
      if (!overtaken.test(message(cause))) this.transcript.notice("error", message(cause));
    }
  }

  /** The next message begins another thread. What runs in this one is stopped. */
  async fresh(): Promise<void> {
    await this.stop();
    this.leave();
    this.keep(undefined);
    this.transcript.load([], []);
    this.surface.title("");
    this.surface.reset();
  }

  async resume(threadId: string): Promise<void> {
    if (threadId === this.threadId) return;
    await this.stop();
    this.leave();
    this.keep({ key: "", threadId });
    try {
      await this.open();
    } catch (cause) {
      this.transcript.load([], []);
      this.surface.reset();
      this.transcript.notice("error", message(cause));
      throw cause;
    }
  }

  /** The threads of the folder, the newest first. */
  async list(): Promise<Thread[]> {
    const peer = await this.connect();
    const { data } = await peer.request<{ data: Thread[] }>("thread/list", { cwd: this.world.cwd, limit: 100 });
    return data.toSorted((a, b) => b.updatedAt - a.updatedAt);
  }

  answer(id: string, choice: Choice, values: Values): boolean {
    return this.questions.answer(id, choice, values);
  }

  /** The app-server ends; the conversation can be gone on with. */
  async close(): Promise<void> {
    const child = this.child;
    this.child = undefined;
    this.connecting = undefined;
    this.leave();
    this.show({ state: "stopped", why: "Codex was ended. It starts with the next message." });
    await child?.stop();
  }

  async refreshGate(): Promise<void> {
    const child = this.child;
    if (!child || !this.methods.has("bridge/status")) return;
    try {
      const status = await child.peer.request<Status>("bridge/status", {});
      if (child === this.child) this.show({ state: "bridge", status });
    } catch (cause) {
      this.surface.log(`bridge/status: ${message(cause)}`);
    }
  }

  // Connecting

  private connect(): Promise<Peer> {
    this.connecting ??= this.launch().catch((cause: unknown) => {
      this.connecting = undefined;
      const child = this.child;
      this.child = undefined;
      void child?.stop();
      this.show({ state: "failed", why: message(cause) });
      throw cause;
    });
    return this.connecting;
  }

  private async launch(): Promise<Peer> {
    this.show({ state: "starting" });
    const { program, child } = this.world.start({
      notification: (method, params) => this.notification(method, params),
      request: (method, params, id) => this.request(method, params, id),
    });
    this.child = child;
    const ended = child.ended.then((why) => {
      if (this.child === child) this.lost(why);
      throw new Error(why);
    });
    ended.catch(() => undefined);
    const { peer } = child;
    const welcome = await Promise.race([
      ended,
      peer.request<Initialized>("initialize", {
        clientInfo: { name: "codex_bridge_vscode", title: "Codex Bridge for VS Code", version: this.world.version },
        capabilities: { experimentalApi: true, ...(program.kind === "bridge" && { bridge: { version: 1, tools: true, elicitations: true } }) },
      }),
    ]);
    peer.notify("initialized");
    this.methods = new Set(welcome.bridge?.methods ?? []);
    if (program.kind === "bridge" && !welcome.bridge) throw new Error(`${program.command} does not answer as codex-bridge; fix the setting codexBridge.path`);
    if (program.kind === "codex") this.show({ state: "plain" });
    else await this.refreshGate();
    if (this.methods.has("bridge/tool/register") && this.world.tools().length > 0) {
      await peer.request("bridge/tool/register", { tools: this.world.tools() });
    }
    return peer;
  }

  private lost(why: string): void {
    this.child = undefined;
    this.connecting = undefined;
    this.leave();
    this.transcript.notice("error", `${why}. The next message starts it again and goes on with this thread.`);
    this.show({ state: "failed", why });
  }

  private show(server: Server): void {
    this.server = server;
    this.surface.gate(gateOf(server));
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
    const settings = this.world.settings();
    const common = {
      cwd: this.world.cwd,
      approvalPolicy: settings.approvalPolicy,
      sandbox: settings.sandbox,
      ...(settings.model && { model: settings.model }),
    };
    const sessions = this.methods.has("bridge/binding/read");
    const before = this.conversation;
    let opened: Opened | undefined;
    if (before && !(sessions && before.key)) {
      try {
        opened = await this.free(() => peer.request<Opened>("thread/resume", { ...common, threadId: before.threadId }));
      } catch (cause) {
        if (!gone.test(message(cause)) || before.key === "") throw cause; // a thread that was chosen is not replaced by another
      }
    }
    const key = before?.key || this.world.newKey();
    opened ??= await this.free(() =>
      peer.request<Opened>("thread/start", {
        ...common,
        ...(sessions ? { bridge: { sessionKey: key } } : {}),
        ...(this.methods.size === 0 && this.world.tools().length > 0 ? { dynamicTools: this.world.tools() } : {}),
      }),
    );
    const { thread } = opened;
    this.threadId = thread.id;
    this.keep({ key: before && before.key === "" ? "" : key, threadId: thread.id });
    if (before) await this.history(peer, thread);
    this.surface.title(thread.name ?? thread.preview);
    if (before?.key && thread.id !== before.threadId) {
      this.transcript.notice("warning", `This is another thread than before: the one of this conversation can't be gone on with${reason(opened)}.`);
    }
    if (typeof opened.approvalPolicy === "string" && opened.approvalPolicy !== settings.approvalPolicy) {
      this.transcript.notice("info", `In force is approval “${opened.approvalPolicy}”, where the settings say “${settings.approvalPolicy}”.`);
    }
    const sandbox = dashed(opened.sandbox.type);
    if (sandbox !== settings.sandbox) {
      this.transcript.notice("info", `In force is the sandbox “${sandbox}”, where the settings say “${settings.sandbox}”.`);
    }
    this.surface.threads();
    return thread.id;
  }

  /** Asks again while another process has the thread, for a while. */
  private async free<T>(open: () => Promise<T>): Promise<T> {
    for (let waited = 0; ; waited += 250) {
      try {
        return await open();
      } catch (cause) {
        const busy = (cause as { code?: unknown }).code === heldCode || held.test(message(cause));
        if (!busy || waited >= patience) throw cause;
      }
      await this.world.pause(250);
    }
  }

  private async history(peer: Peer, thread: Thread): Promise<void> {
    let { turns } = thread;
    if (turns.length === 0) {
      try {
        ({ thread: { turns } } = await peer.request<{ thread: Thread }>("thread/read", { threadId: thread.id, includeTurns: true }));
      } catch (cause) {
        this.surface.log(`thread/read: ${message(cause)}`); // a thread without a turn has nothing to read
      }
    }
    this.transcript.load(turns);
    this.surface.reset();
    const last = turns.at(-1);
    if (last?.status === "inProgress") this.running(last.id);
  }

  /** Nothing of the thread runs here any more. */
  private leave(): void {
    this.threadId = undefined;
    this.running(undefined);
    this.questions.drop(() => true);
    this.transcript.settle();
    this.changesOf.clear();
  }

  private keep(conversation: Conversation | undefined): void {
    this.conversation = conversation;
    this.surface.remember(conversation);
  }

  // What comes from the app-server

  /** Turns that have ended: the answer to turn/start may come after the end of its turn. */
  private readonly ended = new Set<string>();

  private notification(method: string, params: unknown): void {
    const told = events(method, params);
    switch (told.what) {
      case "hooks":
        void this.refreshGate();
        return;
      case "resolved":
        this.questions.withdraw(told.id);
        return;
      case "warning":
        if (this.threadId && (told.threadId === null || told.threadId === this.threadId)) this.transcript.notice("warning", told.text);
        else this.surface.log(told.text);
        return;
      case "listed":
        this.surface.threads();
        return;
      case "log":
        this.surface.log(told.text);
        return;
      case "nothing":
        return;
    }
    if (told.what === "item" && told.item.type === "fileChange") this.changesOf.set(told.item.id, told.item.changes ?? []);
    if (told.threadId !== this.threadId) return; // a subagent's
    switch (told.what) {
      case "item":
        this.transcript.item(told.item);
        return;
      case "delta":
        this.transcript.delta(told.itemId, told.field, told.text);
        return;
      case "turn":
        this.running(told.turnId);
        return;
      case "completed":
        this.completed(told.turnId, told.status, told.error);
        return;
      case "named":
        this.surface.title(told.name);
        this.surface.threads();
        return;
      case "error":
        this.transcript.notice(told.willRetry ? "warning" : "error", told.text);
        return;
    }
  }

  private completed(turnId: string, status: string, error: string): void {
    this.ended.add(turnId);
    if (this.turnId === turnId || this.turnId === undefined) this.running(undefined);
    this.questions.drop((ask) => ask.threadId === this.threadId);
    this.transcript.settle();
    if (status === "interrupted") this.transcript.notice("info", "Stopped.");
    const last = this.entries().at(-1);
    const told = last?.kind === "notice" && last.level === "error" && last.text === error;
    if (status === "failed" && !told) this.transcript.notice("error", error || "The turn failed.");
    this.surface.threads();
    void this.refreshGate();
  }

  private request(method: string, params: unknown, id: Id): Promise<unknown> | undefined {
    if (method === "item/tool/call") {
      const { tool, arguments: input } = params as { tool: string; arguments: unknown };
      return this.world.callTool(tool, input);
    }
    const { itemId = "" } = (params ?? {}) as Partial<Item & { itemId: string }>;
    return this.questions.take(id, method, params, this.changesOf.get(itemId) ?? []);
  }

  private running(turnId: string | undefined): void {
    const changed = (turnId === undefined) !== (this.turnId === undefined);
    this.turnId = turnId;
    if (changed) this.surface.running(turnId !== undefined);
  }
}

function message(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function reason(opened: Opened): string {
  return opened.bridge?.reason ? ` (${opened.bridge.reason})` : "";
}

/** workspaceWrite as the settings spell it. */
function dashed(type: string): string {
  return type.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
