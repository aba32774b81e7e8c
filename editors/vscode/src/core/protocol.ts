// The types of the app-server protocol that the extension uses, as of Codex 0.169.0.
export interface UserInput {
  type: string;
  text?: string;
  /** The spans of mentions in the text, in bytes. */
  text_elements?: { byteRange: { start: number; end: number }; placeholder: string | null }[];
  name?: string;
  path?: string;
  url?: string;
}

export interface Change {
  path: string;
  kind: { type: "add" } | { type: "delete" } | { type: "update"; move_path: string | null };
  diff: string;
}

export interface ContentItem {
  type: string;
  text?: string;
}

/** An item of a turn. Its fields depend on the type. */
export interface Item {
  type: string;
  id: string;
  clientId?: string | null;
  text?: string;
  content?: (UserInput | string)[];
  summary?: string[];
  command?: string;
  cwd?: string;
  status?: string;
  aggregatedOutput?: string | null;
  exitCode?: number | null;
  changes?: Change[];
  server?: string;
  namespace?: string | null;
  tool?: string;
  arguments?: unknown;
  contentItems?: ContentItem[] | null;
  result?: { content?: ContentItem[] } | null;
  error?: { message?: string } | null;
  query?: string;
}

export interface Turn {
  id: string;
  items: Item[];
  /** A review has a turn of its own, whose root is the turn that completes. */
  rootTurnId?: string | null;
  status: "completed" | "interrupted" | "failed" | "inProgress";
  error: { message: string } | null;
}

export interface Thread {
  id: string;
  preview: string;
  name: string | null;
  cwd: string;
  createdAt: number;
  updatedAt: number;
  turns: Turn[];
}

export interface ThreadResponse {
  thread: Thread;
  model: string;
  reasoningEffort?: string | null;
  approvalPolicy: unknown;
  sandbox: { type: string };
  bridge?: { action: "started" | "resumed"; reason?: string; rotated?: boolean; transient?: boolean };
}

export interface InitializeResponse {
  userAgent: string;
  bridge?: { version: number; name: string; methods: string[]; policy?: { mode: string; gate?: boolean } };
}

/** The response to bridge/status. */
export interface Status {
  version: string;
  /** tested: the version of Codex that the bridge was tested with. */
  codex: { version: string; pid: number; tested?: string };
  policy: { mode: "off" | "audit" | "enforce"; gate?: boolean; refused?: number; rewritten?: number };
  /** Absent in older bridges. */
  configuration?: {
    files: string[]; profile: string; rules: { tool?: string; command?: string; path?: string; decision: string; reason?: string; origin: string }[]; ruleCount: number;
    remember?: string; rememberMs?: number;
  };
  /** The number of clients of a shared Codex; absent if the Codex is not shared. */
  clients?: number;
  hooks: { active: boolean; reason?: string };
}

export interface DynamicTool {
  type: "function";
  name: string;
  description: string;
  inputSchema: object;
}

export interface ToolResult {
  contentItems: { type: "inputText"; text: string }[];
  success: boolean;
}
