// What a session needs of the editor around it, and what it tells.
import type { Ask } from "./serverRequest";
import type { Gate } from "./gate";
import type { Child } from "../rpc/child";
import type { Handlers } from "../rpc/peer";
import type { Program } from "./program";
import type { DynamicTool, ToolResult } from "./protocol";
import type { Watcher } from "./transcript";

/** The conversation that a folder goes on with after a restart. */
export interface Conversation {
  key: string;
  threadId: string;
}

export interface Settings {
  approvalPolicy: string;
  sandbox: string;
  model: string;
}

export interface Surface extends Watcher {
  /** Everything of the chat is another: draw it anew. */
  reset(): void;
  asks(asks: Ask[]): void;
  running(running: boolean): void;
  gate(gate: Gate): void;
  title(title: string): void;
  threads(): void;
  remember(conversation: Conversation | undefined): void;
  log(line: string): void;
}

export interface World {
  readonly cwd: string;
  readonly version: string;
  settings(): Settings;
  /** Starts the program, or throws why not. */
  start(handlers: Handlers): { program: Program; child: Child };
  tools(): DynamicTool[];
  callTool(name: string, input: unknown): Promise<ToolResult>;
  newKey(): string;
  pause(ms: number): Promise<void>;
}
