// Converts Codex's items to entries of the chat.
import type { Entry, FileChange, State } from "./entry";
import * as strings from "./strings";
import type { Change, ContentItem, Item, UserInput } from "./protocol";

/** Returns the entry of an item, or undefined for an item that the chat does not show. */
export function toEntry(item: Item): Entry | undefined {
  const id = item.id;
  switch (item.type) {
    case "userMessage":
      return { kind: "user", id, text: userText(item.content ?? []), pending: false };
    case "agentMessage":
    case "plan":
      return { kind: "assistant", id, text: item.text ?? "" };
    case "reasoning":
      return { kind: "reasoning", id, text: [...(item.summary ?? [])].join("\n\n") };
    case "commandExecution":
      return {
        kind: "command", id, command: stripShell(item.command ?? ""), cwd: item.cwd ?? "",
        output: item.aggregatedOutput ?? "", exitCode: item.exitCode ?? null, state: state(item.status),
      };
    case "fileChange":
      return { kind: "patch", id, files: (item.changes ?? []).map(countChanges), state: state(item.status) };
    case "mcpToolCall":
      return {
        kind: "tool", id, name: `${item.server ?? ""}: ${item.tool ?? ""}`, input: json(item.arguments),
        output: item.error?.message ?? contentText(item.result?.content), state: state(item.status),
      };
    case "dynamicToolCall":
      return {
        kind: "tool", id, name: item.namespace ? `${item.namespace}: ${item.tool ?? ""}` : (item.tool ?? ""), input: json(item.arguments),
        output: contentText(item.contentItems), state: state(item.status),
      };
    case "webSearch":
      return { kind: "tool", id, name: strings.chat.webSearch, input: item.query ?? "", output: "", state: state(item.status ?? "completed") };
    case "contextCompaction":
      return { kind: "notice", id, level: "info", text: strings.chat.compacted };
    case "enteredReviewMode":
      return { kind: "notice", id, level: "info", text: strings.chat.reviewStarted };
    case "exitedReviewMode":
      return { kind: "notice", id, level: "info", text: strings.chat.reviewDone };
    default:
      return undefined;
  }
}

/** Removes the shell that Codex runs a command in. */
export function stripShell(command: string): string {
  const match = /^(?:\/\S*\/)?(?:ba|z|da)?sh -l?c (.*)$/s.exec(command);
  const inner = match?.[1];
  if (inner === undefined) return command;
  if (/^(?:'[^']*'|\\')+$/.test(inner)) return inner.replace(/'([^']*)'|\\'/g, (piece, text: string | undefined) => text ?? piece.slice(1));
  const double = /^"([^"\\$`!]*)"$/s.exec(inner);
  if (double) return double[1] ?? "";
  return /^[\w./:=@%+-]+$/.test(inner) ? inner : command; // unknown quoting: keep the shell
}

/** Counts the added and removed lines of a change. */
export function countChanges(change: Change): FileChange {
  const lines = change.diff === "" ? [] : change.diff.replace(/\n$/, "").split("\n");
  const kind = change.kind.type;
  if (kind === "add") return { path: change.path, kind, added: lines.length, removed: 0 };
  if (kind === "delete") return { path: change.path, kind, added: 0, removed: lines.length };
  let added = 0;
  let removed = 0;
  let inHunk = false;
  for (const line of lines) {
    if (line.startsWith("@@")) inHunk = true;
    else if (inHunk && line.startsWith("+")) added++;
    else if (inHunk && line.startsWith("-")) removed++;
  }
  return { path: change.path, kind, added, removed };
}

function state(status: string | undefined): State {
  switch (status) {
    case "completed":
      return "done";
    case "failed":
      return "failed";
    case "declined":
      return "declined";
    default:
      return "running";
  }
}

function userText(content: (UserInput | string)[]): string {
  return content
    .map((part) => {
      if (typeof part === "string") return part;
      if (part.type === "text") return part.text ?? "";
      return `[${part.type}${part.name ?? part.path ? `: ${part.name ?? part.path}` : ""}]`;
    })
    .join("\n");
}

function contentText(content: ContentItem[] | null | undefined): string {
  return (content ?? []).map((part) => part.text ?? `[${part.type}]`).join("\n");
}

function json(value: unknown): string {
  const text = JSON.stringify(value, null, 2) ?? "";
  return text === "{}" || text === "null" ? "" : text;
}
