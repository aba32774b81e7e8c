// What the chat shows, entry by entry: plain data that goes to the page as it is.
export type State = "running" | "done" | "failed" | "declined";

export interface FileLine {
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
  | { kind: "patch"; id: string; files: FileLine[]; state: State }
  | { kind: "tool"; id: string; name: string; input: string; output: string; state: State }
  | { kind: "notice"; id: string; level: "info" | "warning" | "error"; text: string };

/** The text of an entry that grows while a turn runs. */
export type Growing = "text" | "output";
