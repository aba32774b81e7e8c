// An app-server that a test plays, and an editor that notes what it is told.
import { PassThrough } from "node:stream";
import type { Ask } from "../src/core/serverRequest";
import type { Entry } from "../src/core/entry";
import type { Gate } from "../src/core/gate";
import { Session } from "../src/core/session";
import type { Conversation, Surface, World } from "../src/core/sessionHost";
import type { DynamicTool } from "../src/core/protocol";
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

/** What codex answers, as far as no test says otherwise. */
const usual: Answers = {
  initialize: () => ({ userAgent: "t/0.169.0" }),
  "thread/start": () => opened("t1"),
  "thread/resume": (p) => opened(String(p["threadId"])),
  "turn/start": () => ({ turn: { id: "turn1" } }),
  "turn/steer": () => ({ turnId: "turn1" }),
  "turn/interrupt": () => ({}),
  "bridge/tool/register": () => ({ fingerprint: "f" }),
  "bridge/status": () => ({ version: "1", codex: {}, policy: { mode: "enforce", gate: true }, hooks: { active: true } }),
};

export const opened = (id: string, turns: unknown[] = []): object => ({
  thread: { id, preview: "", name: null, cwd: "/w", turns }, model: "m", approvalPolicy: "on-request", sandbox: { type: "workspaceWrite" },
});

/** initialize of a bridge. */
export const bridge = (): object => ({
  userAgent: "t", bridge: { version: 1, name: "b", methods: ["bridge/status", "bridge/binding/read", "bridge/tool/register"], policy: { mode: "enforce" } },
});

export class Server {
  readonly heard: Message[] = [];
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
      for (const line of lines) this.take(JSON.parse(line) as Message);
    });
  }

  private take(message: Message): void {
    this.heard.push(message);
    if (message.method === undefined || message.id === undefined) return;
    const answer = this.answers[message.method] ?? usual[message.method];
    try {
      if (!answer) throw new Error(`unknown method ${message.method}`);
      const result = answer(message.params ?? {}, this);
      if (result !== undefined) this.say({ id: message.id, result });
    } catch (cause) {
      this.say({ id: message.id, error: { code: (cause as { code?: number }).code ?? -32600, message: (cause as Error).message } });
    }
  }

  say(message: Message): void {
    this.toClient.write(`${JSON.stringify(message)}\n`);
  }

  tell(method: string, params: Record<string, unknown>): void {
    this.say({ method, params });
  }

  crash(why: string): void {
    this.end(why);
  }

  sent(method: string): Record<string, unknown>[] {
    return this.heard.filter((m) => m.method === method).map((m) => m.params ?? {});
  }

  start: World["start"] = (handlers) => {
    const logger = { error: () => undefined, warn: () => undefined, info: () => undefined, log: () => undefined };
    const peer = connect(new LineReader(this.toClient), new LineWriter(this.fromClient), handlers, logger);
    const ended = new Promise<string>((done) => {
      this.end = done;
    });
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

export class Editor implements Surface {
  readonly told: string[] = [];
  waiting: Ask[] = [];
  kept: Conversation | undefined;
  last: Gate | undefined;
  private readonly checks = new Set<() => void>();

  private note(line: string): void {
    this.told.push(line);
    for (const check of this.checks) check();
  }

  /** Waits until it is so; it is looked again whenever the editor is told something. */
  until(so: () => boolean): Promise<void> {
    return new Promise((done) => {
      const check = (): void => {
        if (!so()) return;
        this.checks.delete(check);
        done();
      };
      this.checks.add(check);
      check();
    });
  }

  entry(entry: Entry): void {
    this.note(`entry ${entry.kind} ${"text" in entry ? entry.text : entry.id}`);
  }
  grow(id: string, _: string, text: string): void {
    this.note(`grow ${id} ${text}`);
  }
  gone(id: string): void {
    this.note(`gone ${id.replace(/\d+/g, "N")}`);
  }
  reset(): void {
    this.note("reset");
  }
  asks(asks: Ask[]): void {
    this.waiting = asks;
    this.note(`asks ${asks.length}`);
  }
  running(running: boolean): void {
    this.note(`running ${running}`);
  }
  gate(gate: Gate): void {
    this.last = gate;
    this.note(`gate ${gate.short}`);
  }
  title(title: string): void {
    this.note(`title ${title}`);
  }
  threads(): void {
    this.note("threads");
  }
  remember(conversation: Conversation | undefined): void {
    this.kept = conversation;
  }
  log(line: string): void {
    this.note(`log ${line}`);
  }
}

const tool: DynamicTool = { type: "function", name: "look", description: "d", inputSchema: { type: "object" } };

export function session(servers: Server[], kept?: Conversation): { session: Session; editor: Editor } {
  const editor = new Editor();
  const world: World = {
    cwd: "/w",
    version: "0",
    settings: () => ({ approvalPolicy: "on-request", sandbox: "workspace-write", model: "" }),
    start: (handlers) => {
      const server = servers.shift();
      if (!server) throw new Error("nothing to start");
      return server.start(handlers);
    },
    tools: () => [tool],
    callTool: (name) => Promise.resolve({ contentItems: [{ type: "inputText", text: `${name} was called` }], success: true }),
    newKey: () => "new-key",
    pause: () => Promise.resolve(),
  };
  return { session: new Session(world, editor, kept), editor };
}
