// What the extension and the page of the chat tell each other.
import type { Ask, Choice, Values } from "../core/serverRequest";
import type { Entry, Growing } from "../core/entry";

/** Why nothing can be sent, and the command that changes that. */
export interface Blocked {
  text: string;
  button: string;
  command: string;
}

export interface PageState {
  entries: Entry[];
  asks: Ask[];
  running: boolean;
  title: string;
  folder: string;
  blocked: Blocked | null;
}

export type ToPage =
  | { type: "state"; state: PageState }
  | { type: "entry"; entry: Entry }
  | { type: "grow"; id: string; field: Growing; text: string }
  | { type: "gone"; id: string }
  | { type: "asks"; asks: Ask[] }
  | { type: "running"; running: boolean }
  | { type: "title"; title: string }
  | { type: "sent"; text: string; ok: boolean }
  | { type: "draft"; text: string }
  | { type: "focus" };

export type FromPage =
  | { type: "ready" }
  | { type: "send"; text: string }
  | { type: "stop" }
  | { type: "answer"; id: string; choice: Choice; values: Values }
  | { type: "diff"; id: string }
  | { type: "open"; href: string }
  | { type: "unblock" };

/** The page shows what a model wrote: what comes from it is looked at before it is believed. */
export function decode(raw: unknown): FromPage | undefined {
  if (typeof raw !== "object" || raw === null) return undefined;
  const m = raw as Record<string, unknown>;
  const text = (name: string): string | undefined => (typeof m[name] === "string" ? m[name] : undefined);
  switch (m["type"]) {
    case "ready":
    case "stop":
    case "unblock":
      return { type: m["type"] };
    case "send": {
      const said = text("text")?.trim();
      return said ? { type: "send", text: said } : undefined;
    }
    case "answer": {
      const id = text("id");
      const choice = text("choice");
      const values = m["values"] ?? {};
      if (id === undefined || typeof values !== "object" || values === null) return undefined;
      if (choice !== "accept" && choice !== "acceptForSession" && choice !== "decline" && choice !== "submit") return undefined;
      const plain = Object.entries(values).filter((e): e is [string, string] => typeof e[1] === "string");
      return { type: "answer", id, choice, values: Object.fromEntries(plain) };
    }
    case "diff": {
      const id = text("id");
      return id === undefined ? undefined : { type: "diff", id };
    }
    case "open": {
      const href = text("href");
      return href !== undefined && /^(?:https?:\/\/|mailto:)/i.test(href) ? { type: "open", href } : undefined;
    }
    default:
      return undefined;
  }
}
