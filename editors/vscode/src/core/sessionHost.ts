// The interfaces between a session and the editor.
import type { ServerRequest } from "./serverRequest";
import type { Gate } from "./gate";
import type { ChangesEntry } from "./entry";
import type { Child } from "../rpc/child";
import type { Handlers } from "../rpc/peer";
import type { Program } from "./program";
import type { DynamicTool, ToolResult } from "./protocol";
import type { ThreadInfo } from "./threadInfo";
import type { TranscriptObserver } from "./transcript";

/** The saved conversation of a folder. An empty key means that the user chose the thread. */
export interface Conversation {
  key: string;
  threadId: string;
  /** The thread is to be forked, and the fork opened. */
  isFork?: boolean;
}

export interface Settings {
  approvalPolicy: string;
  sandbox: string;
  model: string;
}

export interface SessionObserver extends TranscriptObserver {
  /** The whole chat has changed. */
  reset(): void;
  requests(requests: ServerRequest[]): void;
  running(running: boolean): void;
  gate(gate: Gate): void;
  title(title: string): void;
  info(info: ThreadInfo): void;
  /** A turn has ended by itself, or was stopped. */
  completed(): void;
  threadsChanged(): void;
  saveConversation(conversation: Conversation | undefined): void;
  log(line: string): void;
}

export interface SessionHost {
  readonly cwd: string;
  readonly version: string;
  settings(): Settings;
  /** Starts the program, or throws an error. */
  start(handlers: Handlers): { program: Program; child: Child };
  tools(): DynamicTool[];
  callTool(name: string, input: unknown): Promise<ToolResult>;
  /** Takes the snapshot before a turn. Returns why there is none, or "". */
  beforeTurn?(threadId: string, text: string): Promise<string>;
  /** A turn has begun, with the last snapshot before it. */
  turnBegan?(threadId: string, turnId: string): void;
  /** Takes the snapshot after a turn. patched: the files of its patches. Returns the card of its changes; undefined without a snapshot. */
  afterTurn?(threadId: string, turnId: string, patched: string[]): Promise<ChangesEntry | undefined>;
  newKey(): string;
  pause(ms: number): Promise<void>;
}
