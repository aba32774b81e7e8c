// The connection of a conversation to its app-server: its start and end, and the state of the gate.
import { actionsFor } from "./exit";
import { toGate, type Gate, type ServerState } from "./gate";
import type { NoticeAction } from "./entry";
import { errorCard } from "./policy";
import type { InitializeResponse, Status } from "./protocol";
import type { Keeper } from "./serverRequest";
import type { SessionHost } from "./sessionHost";
import type { Grant } from "./status";
import * as strings from "./strings/bridge";
import type { Child } from "../rpc/child";
import { ExitError, type Handlers, type Peer } from "../rpc/peer";

export interface ConnectionObserver extends Handlers {
  gate(gate: Gate): void;
  log(line: string): void;
  /** The app-server has exited by itself, after its start. */
  exited(why: string): void;
}

export class Connection {
  private child: Child | undefined;
  private started: Child | undefined; // the child that has answered initialize
  private connecting: Promise<Peer> | undefined;
  private methods = new Set<string>();
  private server: ServerState = { state: "stopped", why: strings.program.notStarted };
  private mode: string | undefined; // the bridge's policy.mode; undefined: plain codex
  private status: Status | undefined;

  constructor(
    private readonly host: SessionHost,
    private readonly observer: ConnectionObserver,
  ) {}

  get gate(): Gate {
    return toGate(this.server);
  }

  /** The connection to the running app-server. */
  get peer(): Peer | undefined {
    return this.child?.peer;
  }

  /** The program that keeps an answer for longer than once. */
  get keeper(): Keeper {
    return this.mode === "enforce" ? "bridge" : "codex";
  }

  /** Reports whether the program is plain codex, or a bridge without methods. */
  get isPlain(): boolean {
    return this.methods.size === 0;
  }

  /** Reports whether the program has a method of the bridge. */
  has(method: string): boolean {
    return this.methods.has(method);
  }

  /** Starts the program if it is not running. */
  open(): Promise<Peer> {
    this.connecting ??= this.launch().catch((cause: unknown) => {
      this.connecting = undefined;
      const child = this.child;
      this.child = undefined;
      void child?.stop();
      if (cause instanceof ExitError && child === undefined) throw cause; // exited has shown it
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
    const { program, child } = this.host.start(this.observer);
    this.child = child;
    const ended = child.ended.then((why) => {
      if (this.child === child && this.started === child) this.exited(why);
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
    if (this.has("bridge/tool/register") && this.host.tools().length > 0) {
      await peer.request("bridge/tool/register", { tools: this.host.tools() });
    }
    return peer;
  }

  private exited(why: string): void {
    this.child = undefined;
    this.connecting = undefined;
    this.observer.exited(why);
    this.setServer({ state: "failed", why });
  }

  private setServer(server: ServerState): void {
    this.server = server;
    this.observer.gate(toGate(server));
  }

  /** Stops the app-server. The next message restarts it. */
  async close(): Promise<void> {
    const child = this.child;
    this.child = undefined;
    this.connecting = undefined;
    this.setServer({ state: "stopped", why: strings.program.stopped });
    await child?.stop();
  }

  async refreshGate(): Promise<void> {
    const child = this.child;
    if (!child || !this.has("bridge/status")) return;
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
    const peer = await this.open();
    if (this.mode === undefined) throw new Error(strings.program.needsBridge);
    if (!this.has(method)) throw new Error(strings.program.oldBridge(method));
    return peer.request<T>(method, params);
  }

  /** Returns the remembered approvals; undefined without a running bridge. */
  async grants(): Promise<Grant[] | undefined> {
    if (!this.child || !this.has("bridge/grant/list")) return undefined;
    return (await this.askBridge<{ grants: Grant[] }>("bridge/grant/list", {})).grants;
  }
}

/** An error of the start, with the buttons that help. */
export class StartError extends Error {
  constructor(text: string, readonly actions: NoticeAction[]) {
    super(text);
  }
}

export const message = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
