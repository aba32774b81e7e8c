// A fake app-server, and an editor that records the events of a session.
import { PassThrough } from "node:stream";
import type { ServerRequest } from "../src/core/serverRequest";
import type { Entry } from "../src/core/entry";
import type { Gate } from "../src/core/gate";
import { Session } from "../src/core/session";
import type { Conversation, SessionObserver, SessionHost } from "../src/core/sessionHost";
import type { DynamicTool } from "../src/core/protocol";
import type { ThreadInfo } from "../src/core/threadInfo";
import { LineReader, LineWriter } from "../src/rpc/lines";
import { connect, type Id } from "../src/rpc/peer";

interface Message {
  id?: Id;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { code: number; message: string };
}

export type Answers = Record<string, (params: Record<string, unknown>, server: Server) => unknown>;

/** The default responses; a test may replace them. */
const defaults: Answers = {
  initialize: () => ({ userAgent: "t/0.169.0" }),
  "thread/start": () => threadResponse("t1"),
  "thread/resume": (p) => threadResponse(String(p["threadId"])),
  "turn/start": () => ({ turn: { id: "turn1" } }),
  "turn/steer": () => ({ turnId: "turn1" }),
  "turn/interrupt": () => ({}),
  "bridge/tool/register": () => ({ fingerprint: "f" }),
  "bridge/status": () => ({ version: "1", codex: {}, policy: { mode: "enforce", gate: true }, hooks: { active: true } }),
};

export const threadResponse = (id: string, turns: unknown[] = []): object => ({
  thread: { id, preview: "", name: null, cwd: "/w", turns }, model: "m", approvalPolicy: "on-request", sandbox: { type: "workspaceWrite" },
});

/** The response of a bridge to initialize. */
const bridgeInitialize = (): object => ({
  userAgent: "t", bridge: { version: 1, name: "b", methods: ["bridge/status", "bridge/binding/read", "bridge/tool/register"], policy: { mode: "enforce" } },
});

export class Server {
  readonly received: Message[] = [];
  private readonly toClient = new PassThrough();
  private readonly fromClient = new PassThrough();
  private end: (why: string) => void = () => undefined;
  private rest = "";

  constructor(
    private readonly answers: Answers,
    readonly kind: "bridge" | "codex",
  ) {
    this.fromClient.setEncoding("utf8").on("data", (text: string) => {
      const lines = (this.rest + text).split("\n");
      this.rest = lines.pop() ?? "";
      for (const line of lines) this.receive(JSON.parse(line) as Message);
    });
  }

  private receive(message: Message): void {
    this.received.push(message);
    if (message.method === undefined || message.id === undefined) return;
    const answer = this.answers[message.method] ?? defaults[message.method];
    try {
      if (!answer) throw new Error(`unknown method ${message.method}`);
      const result = answer(message.params ?? {}, this);
      if (result !== undefined) this.send({ id: message.id, result });
    } catch (cause) {
      this.send({ id: message.id, error: { code: (cause as { code?: number }).code ?? -32600, message: (cause as Error).message } });
    }
  }

  send(message: Message): void {
    this.toClient.write(`${JSON.stringify(message)}\n`);
  }

  notify(method: string, params: Record<string, unknown>): void {
    this.send({ method, params });
  }

  crash(why: string): void {
    this.end(why);
  }

  sent(method: string): Record<string, unknown>[] {
    return this.received.filter((m) => m.method === method).map((m) => m.params ?? {});
  }

  start: SessionHost["start"] = (handlers) => {
    const logger = { error: () => undefined, warn: () => undefined, info: () => undefined, log: () => undefined };
    const ended = new Promise<string>((done) => {
      this.end = done;
    });
    const peer = connect(new LineReader(this.toClient), new LineWriter(this.fromClient), handlers, logger, ended);
    void ended.then(() => peer.dispose());
    return {
      program: { kind: this.kind, name: this.kind, command: `/bin/${this.kind}`, args: [], env: {}, framing: "lines" },
      child: {
        peer,
        ended,
        stop: async () => {
          this.end("ended");
          await ended;
        },
      },
    };
  };
}

export class Editor implements SessionObserver {
  readonly events: string[] = [];
  pending: ServerRequest[] = [];
  conversation: Conversation | undefined;
  lastGate: Gate | undefined;
  lastInfo: ThreadInfo | undefined;
  private readonly checks = new Set<() => void>();

  private record(line: string): void {
    this.events.push(line);
    for (const check of this.checks) check();
  }

  /** Waits until the condition is true; every event checks it again. */
  waitUntil(condition: () => boolean): Promise<void> {
    return new Promise((done) => {
      const check = (): void => {
        if (!condition()) return;
        this.checks.delete(check);
        done();
      };
      this.checks.add(check);
      check();
    });
  }

  entry(entry: Entry): void {
    this.record(`entry ${entry.kind} ${"text" in entry ? entry.text : entry.id}`);
  }
  append(id: string, _: string, text: string): void {
    this.record(`append ${id} ${text}`);
  }
  remove(id: string): void {
    this.record(`remove ${id.replace(/\d+/g, "N")}`);
  }
  reset(): void {
    this.record("reset");
  }
  requests(requests: ServerRequest[]): void {
    this.pending = requests;
    this.record(`requests ${requests.length}`);
  }
  running(running: boolean): void {
    this.record(`running ${running}`);
  }
  gate(gate: Gate): void {
    this.lastGate = gate;
    this.record(`gate ${gate.short}`);
  }
  title(title: string): void {
    this.record(`title ${title}`);
  }
  info(info: ThreadInfo): void {
    this.lastInfo = info;
    this.record("info");
  }
  completed(): void {
    this.record("completed");
  }
  threadsChanged(): void {
    this.record("threads");
  }
  saveConversation(conversation: Conversation | undefined): void {
    this.conversation = conversation;
  }
  log(line: string): void {
    this.record(`log ${line}`);
  }
}

const tool: DynamicTool = { type: "function", name: "look", description: "d", inputSchema: { type: "object" } };

export function session(servers: Server[], conversation?: Conversation, more: Partial<SessionHost> = {}): { session: Session; editor: Editor } {
  const editor = new Editor();
  const host: SessionHost = {
    cwd: "/w",
    version: "0",
    settings: () => ({ approvalPolicy: "on-request", sandbox: "workspace-write", model: "" }),
    start: (handlers) => {
      const server = servers.shift();
      if (!server) throw new Error("nothing to start");
      return server.start(handlers);
    },
    tools: () => [tool],
    callTool: (name) => Promise.resolve({ contentItems: [{ type: "inputText", text: `${name} was called` }], success: name === tool.name }),
    newKey: () => "new-key",
    pause: () => Promise.resolve(),
    ...more,
  };
  return { session: new Session(host, editor, conversation), editor };
}

/** A plain Codex with these responses. */
export const codex = (answers: Answers = {}): Server => new Server(answers, "codex");
/** A codex-bridge with these responses. */
export const bridge = (answers: Answers = {}): Server => new Server({ initialize: bridgeInitialize, ...answers }, "bridge");
/** Returns the kinds of entries with their texts. */
export const texts = (entries: { kind: string; text?: string }[]): string[] => entries.map((e) => `${e.kind} ${e.text ?? ""}`.trim());
/** Returns the params of a notification about an item of the turn. */
export const item = (type: string, id: string, more: object = {}): Record<string, unknown> => ({ threadId: "t1", turnId: "turn1", item: { type, id, ...more } });
