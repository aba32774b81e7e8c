// The entries of the chat. They are plain data, which the extension posts to the webview.
import type { Card, Decision } from "./policy";

export type Level = "info" | "warning" | "error";
/** The button of a notice. */
export type NoticeAction = "settings" | "log" | { file: string; line: number };

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
  | { kind: "policy"; id: string; card: Card; decisions: Decision[] }
  | { kind: "notice"; id: string; level: Level; text: string; action?: NoticeAction };

/** The field of an entry that receives deltas. */
export type DeltaField = "text" | "output";
