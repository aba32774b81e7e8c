// Converts Codex's items to entries of the chat.
import type { Entry, FileChange, SentAttachment, State } from "./entry";
import * as strings from "./strings/chat";
import type { Change, ContentItem, Item, UserInput } from "./protocol";
import { visible, visibleJson } from "./text";

/** Returns the entry of an item, or undefined for an item that the chat does not show. */
export function toEntry(item: Item): Entry | undefined {
  const id = item.id;
  switch (item.type) {
    case "userMessage":
      return { kind: "user", id, ...userContent(item.content ?? []), pending: false };
    case "agentMessage":
    case "plan":
      return { kind: "assistant", id, text: item.text ?? "" };
    case "reasoning":
      return { kind: "reasoning", id, text: [...(item.summary ?? [])].join("\n\n") };
    case "commandExecution":
      return {
        kind: "command", id, command: visible(stripShell(item.command ?? "")), cwd: item.cwd ?? "",
        output: item.aggregatedOutput ?? "", exitCode: item.exitCode ?? null, state: state(item.status),
      };
    case "fileChange":
      return { kind: "patch", id, files: (item.changes ?? []).map(countChanges), state: state(item.status) };
    case "mcpToolCall":
      return {
        kind: "tool", id, name: visible(`${item.server ?? ""}: ${item.tool ?? ""}`), input: json(item.arguments),
        output: item.error?.message ?? contentText(item.result?.content), state: state(item.status),
      };
    case "dynamicToolCall":
      return {
        kind: "tool", id, name: visible(item.namespace ? `${item.namespace}: ${item.tool ?? ""}` : (item.tool ?? "")), input: json(item.arguments),
        output: contentText(item.contentItems), state: state(item.status),
      };
    case "webSearch":
      return { kind: "tool", id, name: strings.chat.webSearch, input: visible(item.query ?? ""), output: "", state: state(item.status ?? "completed") };
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

/**
 * Removes the shell of the system that Codex runs a command in. Another program keeps its name, also one that is called like
 * a shell. Not for questions, which show the whole command.
 */
export function stripShell(command: string): string {
  const match = /^(?:(?:\/usr(?:\/local)?)?\/bin\/)?(?:ba|z|da|k)?sh -l?c (.+)$/s.exec(command);
  const inner = match?.[1];
  if (inner === undefined) return command;
  if (inner !== "''" && /^(?:'[^']*'|\\')+$/.test(inner)) return inner.replace(/'([^']*)'|\\'/g, (piece, text: string | undefined) => text ?? piece.slice(1));
  const double = /^"([^"\\$`!]+)"$/s.exec(inner);
  if (double?.[1]) return double[1];
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

/** Returns the text of a message, and what was sent with it: the further texts start with a line that names them. */
export function userContent(content: (UserInput | string)[]): { text: string; attachments: SentAttachment[] } {
  const isText = (part: UserInput | string): boolean => typeof part === "string" || part.type === "text";
  const textOf = (part: UserInput | string): string => (typeof part === "string" ? part : (part.text ?? ""));
  const [first, ...rest] = content;
  const hasText = first !== undefined && isText(first) && !startsAttachment(textOf(first));
  const attachments = (hasText ? rest : content).map((part): SentAttachment => {
    if (isText(part)) {
      const [label = "", ...lines] = textOf(part).split("\n");
      return { label: label.replace(/:$/, ""), text: lines.join("\n").trim() };
    }
    const { type, name, path } = part as UserInput;
    return { label: /image/i.test(type) ? strings.chat.image : `[${type}${name ?? path ? `: ${name ?? path}` : ""}]`, text: "" };
  });
  return { text: hasText ? textOf(first) : "", attachments };
}

/** Reports whether a text is one that the extension sends for a selection, problems or a file. */
const startsAttachment = (text: string): boolean => /^[^\n]{1,600}, lines \d+ to \d+:\n`{3}/.test(text);

function contentText(content: ContentItem[] | null | undefined): string {
  return (content ?? []).map((part) => part.text ?? `[${part.type}]`).join("\n");
}

function json(value: unknown): string {
  const text = visibleJson(value, 2);
  return text === "{}" || text === "null" ? "" : text;
}
