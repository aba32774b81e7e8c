// Codex's notifications, reduced to what a conversation has to do with them.
import type { Growing } from "./entry";
import type { Change, Item, Turn } from "./protocol";
import type { Id } from "../rpc/peer";

export type Told =
  | { what: "item"; threadId: string; item: Item }
  | { what: "delta"; threadId: string; itemId: string; field: Growing; text: string }
  | { what: "turn"; threadId: string; turnId: string }
  | { what: "completed"; threadId: string; turnId: string; status: Turn["status"]; error: string }
  | { what: "named"; threadId: string; name: string }
  | { what: "error"; threadId: string; text: string; willRetry: boolean }
  | { what: "warning"; threadId: string | null; text: string }
  | { what: "resolved"; id: Id }
  | { what: "hooks" }
  | { what: "listed" }
  | { what: "log"; text: string }
  | { what: "nothing" };

interface Params {
  threadId: string;
  itemId: string;
  delta: string;
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
  method: string;
  verdict: string;
}

export function events(method: string, raw: unknown): Told {
  const p = (raw ?? {}) as Params;
  const { threadId } = p;
  switch (method) {
    case "item/started":
    case "item/completed":
      return { what: "item", threadId, item: p.item };
    case "item/fileChange/patchUpdated":
      return { what: "item", threadId, item: { type: "fileChange", id: p.itemId, changes: p.changes, status: "inProgress" } };
    case "item/agentMessage/delta":
    case "item/plan/delta":
    case "item/reasoning/summaryTextDelta":
      return { what: "delta", threadId, itemId: p.itemId, field: "text", text: p.delta };
    case "item/reasoning/summaryPartAdded":
      return { what: "delta", threadId, itemId: p.itemId, field: "text", text: "\n\n" };
    case "item/commandExecution/outputDelta":
      return { what: "delta", threadId, itemId: p.itemId, field: "output", text: p.delta };
    case "item/mcpToolCall/progress":
      return { what: "delta", threadId, itemId: p.itemId, field: "output", text: `${p.message}\n` };
    case "turn/started":
      return { what: "turn", threadId, turnId: p.turn.id };
    case "turn/completed":
      return { what: "completed", threadId, turnId: p.turn.id, status: p.turn.status, error: p.turn.error?.message ?? "" };
    case "thread/name/updated":
      return { what: "named", threadId, name: p.threadName ?? "" };
    case "error":
      return { what: "error", threadId, text: p.error.message, willRetry: p.willRetry };
    case "warning":
    case "guardianWarning":
      return { what: "warning", threadId: threadId ?? null, text: p.message };
    case "configWarning":
      return { what: "warning", threadId: null, text: p.details ? `${p.summary} ${p.details}` : p.summary };
    case "serverRequest/resolved":
      return { what: "resolved", id: p.requestId };
    case "bridge/hooks/state":
    case "bridge/config/changed":
      return { what: "hooks" };
    case "bridge/policy/applied":
      return { what: "log", text: `policy: ${p.verdict} ${p.method}: ${JSON.stringify(raw)}` };
    case "deprecationNotice":
      return { what: "log", text: p.summary };
    case "thread/archived":
    case "thread/unarchived":
    case "thread/deleted":
      return { what: "listed" };
    default:
      return { what: "nothing" };
  }
}
