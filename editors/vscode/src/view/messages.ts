// The messages between the extension and the webview.
import type { Choice } from "../core/choice";
import type { ServerRequest, Values } from "../core/serverRequest";
import type { Entry, DeltaField } from "../core/entry";

/** Why Codex can't start, and a command that changes it. */
export interface Blocked {
  text: string;
  button: string;
  command: string;
}

export interface PageState {
  entries: Entry[];
  requests: ServerRequest[];
  running: boolean;
  title: string;
  folder: string;
  blocked: Blocked | null;
}

export type ToPage =
  | { type: "state"; state: PageState }
  | { type: "entry"; entry: Entry }
  | { type: "append"; id: string; field: DeltaField; text: string }
  | { type: "remove"; id: string }
  | { type: "requests"; requests: ServerRequest[] }
  | { type: "running"; running: boolean }
  | { type: "title"; title: string }
  | { type: "sent"; text: string; ok: boolean }
  | { type: "draft"; text: string; number: number }
  | { type: "focus" };

export type FromPage =
  | { type: "ready" }
  | { type: "send"; text: string }
  | { type: "stop" }
  | { type: "answer"; id: string; choice: Choice; values: Values }
  | { type: "diff"; id: string }
  | { type: "openPolicy"; id: string; index: number }
  | { type: "notice"; id: string }
  | { type: "seen"; ids: string[] }
  | { type: "drafted"; number: number }
  | { type: "open"; href: string }
  | { type: "unblock" };

/** Validates a message from the webview, which shows text of the model. Returns undefined for an invalid one. */
export function parseMessage(raw: unknown): FromPage | undefined {
  if (typeof raw !== "object" || raw === null) return undefined;
  const m = raw as Record<string, unknown>;
  const text = (name: string): string | undefined => (typeof m[name] === "string" ? m[name] : undefined);
  switch (m["type"]) {
    case "ready":
    case "stop":
    case "unblock":
      return { type: m["type"] };
    case "send": {
      const message = text("text")?.trim();
      return message ? { type: "send", text: message } : undefined;
    }
    case "answer": {
      const id = text("id");
      const choice = text("choice");
      const values = m["values"] ?? {};
      if (id === undefined || typeof values !== "object" || values === null) return undefined;
      if (choice !== "accept" && choice !== "acceptForSession" && choice !== "acceptAlways" && choice !== "decline" && choice !== "submit") return undefined;
      const plain = Object.entries(values).filter((e): e is [string, string] => typeof e[1] === "string");
      return { type: "answer", id, choice, values: Object.fromEntries(plain) };
    }
    case "diff":
    case "notice": {
      const id = text("id");
      return id === undefined ? undefined : { type: m["type"], id };
    }
    case "openPolicy": {
      const id = text("id");
      const index = m["index"];
      return id === undefined || typeof index !== "number" ? undefined : { type: "openPolicy", id, index };
    }
    case "seen": {
      const ids = m["ids"];
      return Array.isArray(ids) && ids.every((id) => typeof id === "string") ? { type: "seen", ids } : undefined;
    }
    case "drafted":
      return typeof m["number"] === "number" ? { type: "drafted", number: m["number"] } : undefined;
    case "open": {
      const href = text("href");
      return href !== undefined && /^(?:https?:\/\/|mailto:)/i.test(href) ? { type: "open", href } : undefined;
    }
    default:
      return undefined;
  }
}
