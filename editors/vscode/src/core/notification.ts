// Converts notifications of Codex and the bridge to the ones that a session uses.
import type { DeltaField } from "./entry";
import type { Applied } from "./policy";
import type { Change, Item, Turn } from "./protocol";
import { type ThreadInfo, toPlan, toUsage } from "./threadInfo";
import type { Id } from "../rpc/peer";

export type Notification =
  | { type: "item"; threadId: string; item: Item; complete: boolean }
  | { type: "delta"; threadId: string; itemId: string; field: DeltaField; text: string }
  | { type: "turnStarted"; threadId: string; turnId: string; rootTurnId: string }
  | { type: "turnCompleted"; threadId: string; turnId: string; status: Turn["status"]; error: string }
  | { type: "turnDiff"; threadId: string; turnId: string; diff: string }
  | { type: "info"; threadId: string; info: Partial<ThreadInfo> }
  | { type: "settings"; threadId: string; settings: unknown }
  | { type: "renamed"; threadId: string; name: string }
  | { type: "error"; threadId: string; text: string; willRetry: boolean }
  | { type: "warning"; threadId: string | null; text: string }
  | { type: "resolved"; id: Id }
  | { type: "policy"; applied: Applied }
  | { type: "statusChanged" }
  | { type: "threadsChanged" }
  | { type: "log"; text: string }
  | { type: "ignored" };

interface Params {
  threadId: string;
  turnId: string;
  itemId: string;
  delta: string;
  diff: string;
  item: Item;
  turn: Turn;
  changes: Change[];
  message: string;
  summary: string;
  details: string | null;
  requestId: Id;
  threadName: string | null;
  willRetry: boolean;
  error: { message: string };
  tokenUsage: unknown;
  threadSettings: unknown;
}

export function parseNotification(method: string, raw: unknown): Notification {
  const p = (raw ?? {}) as Params;
  const { threadId } = p;
  switch (method) {
    case "item/started":
    case "item/completed":
      return { type: "item", threadId, item: p.item, complete: method === "item/completed" };
    case "item/fileChange/patchUpdated":
      return { type: "item", threadId, item: { type: "fileChange", id: p.itemId, changes: p.changes, status: "inProgress" }, complete: false };
    case "item/agentMessage/delta":
    case "item/plan/delta":
    case "item/reasoning/summaryTextDelta":
      return { type: "delta", threadId, itemId: p.itemId, field: "text", text: p.delta };
    case "item/reasoning/summaryPartAdded":
      return { type: "delta", threadId, itemId: p.itemId, field: "text", text: "\n\n" };
    case "item/commandExecution/outputDelta":
      return { type: "delta", threadId, itemId: p.itemId, field: "output", text: p.delta };
    case "item/mcpToolCall/progress":
      return { type: "delta", threadId, itemId: p.itemId, field: "output", text: `${p.message}\n` };
    case "turn/started":
      return { type: "turnStarted", threadId, turnId: p.turn.id, rootTurnId: p.turn.rootTurnId ?? p.turn.id };
    case "turn/completed":
      return { type: "turnCompleted", threadId, turnId: p.turn.id, status: p.turn.status, error: p.turn.error?.message ?? "" };
    case "turn/diff/updated":
      return { type: "turnDiff", threadId, turnId: p.turnId, diff: p.diff };
    case "turn/plan/updated":
      return { type: "info", threadId, info: { plan: toPlan(raw) } };
    case "thread/tokenUsage/updated":
      return { type: "info", threadId, info: { usage: toUsage(p.tokenUsage) } };
    case "thread/settings/updated":
      return { type: "settings", threadId, settings: p.threadSettings };
    case "thread/name/updated":
      return { type: "renamed", threadId, name: p.threadName ?? "" };
    case "error":
      return { type: "error", threadId, text: p.error.message, willRetry: p.willRetry };
    case "warning":
    case "guardianWarning":
      return { type: "warning", threadId: threadId ?? null, text: p.message };
    case "configWarning":
      return { type: "warning", threadId: null, text: p.details ? `${p.summary} ${p.details}` : p.summary };
    case "serverRequest/resolved":
      return { type: "resolved", id: p.requestId };
    case "bridge/hooks/state":
    case "bridge/config/changed":
      return { type: "statusChanged" };
    case "bridge/policy/applied":
      return { type: "policy", applied: (raw ?? {}) as Applied };
    case "deprecationNotice":
      return { type: "log", text: p.summary };
    case "thread/archived":
    case "thread/unarchived":
    case "thread/deleted":
      return { type: "threadsChanged" };
    default:
      return { type: "ignored" };
  }
}
