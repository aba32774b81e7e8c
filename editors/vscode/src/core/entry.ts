// The entries of the chat. They are plain data, which the extension posts to the webview.
export type State = "running" | "done" | "failed" | "declined";

export interface FileChange {
  path: string;
  kind: "add" | "delete" | "update";
  added: number;
  removed: number;
}

export type Entry =
  | { kind: "user"; id: string; text: string; pending: boolean }
  | { kind: "assistant"; id: string; text: string }
  | { kind: "reasoning"; id: string; text: string }
  | { kind: "command"; id: string; command: string; cwd: string; output: string; exitCode: number | null; state: State }
  | { kind: "patch"; id: string; files: FileChange[]; state: State }
  | { kind: "tool"; id: string; name: string; input: string; output: string; state: State }
  | { kind: "notice"; id: string; level: "info" | "warning" | "error"; text: string };

/** The field of an entry that receives deltas. */
export type DeltaField = "text" | "output";
