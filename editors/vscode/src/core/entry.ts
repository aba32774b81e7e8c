// The entries of the chat. They are plain data, which the extension posts to the webview.
import type { Card, Decision } from "./policy";

export type Level = "info" | "warning" | "error";
/** A button of a notice. */
export type NoticeAction = "settings" | "log" | "restart" | { file: string; line: number };

export type State = "running" | "done" | "failed" | "declined";

export interface FileChange {
  path: string;
  kind: "add" | "delete" | "update";
  added: number;
  removed: number;
}

/** A file that a turn changed. note: its sizes if it is binary, and whether the user saved it. */
export interface TurnFile extends FileChange {
  note: string;
  hunks: number;
  /** The first hunks, once the user has unfolded the file. */
  parts: TurnHunk[];
  state: Decided;
}

/** Whether the user kept or undid a change. */
export type Decided = "" | "kept" | "undone";

export interface TurnHunk {
  title: string;
  /** The first lines, with their marks. */
  lines: string[];
  /** The number of further lines. */
  more: number;
  state: Decided;
}

export interface ChangesEntry {
  kind: "changes";
  id: string;
  /** running: the files so far; recorded: the files can be undone; unrecorded: there is no snapshot. */
  phase: "running" | "recorded" | "unrecorded";
  files: TurnFile[];
  uncovered: string[];
}

/** A text or an image that was sent with a message. */
export interface SentAttachment {
  label: string;
  text: string;
}

export type Entry =
  | { kind: "user"; id: string; text: string; attachments: SentAttachment[]; pending: boolean }
  | { kind: "assistant"; id: string; text: string }
  | { kind: "reasoning"; id: string; text: string }
  | { kind: "command"; id: string; command: string; cwd: string; output: string; exitCode: number | null; state: State }
  | { kind: "patch"; id: string; files: FileChange[]; state: State }
  | ChangesEntry
  | { kind: "tool"; id: string; name: string; input: string; output: string; state: State }
  | { kind: "policy"; id: string; card: Card; decisions: Decision[] }
  | { kind: "notice"; id: string; level: Level; text: string; actions?: NoticeAction[] };

/** The field of an entry that receives deltas. */
export type DeltaField = "text" | "output";
