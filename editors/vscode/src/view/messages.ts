// The messages between the extension and the webview.
import type { Choice } from "../core/choice";
import type { ServerRequest, Values } from "../core/serverRequest";
import type { Chip } from "../core/attachments";
import { isSetting, type Chosen, type Group, type Setting } from "../core/choices";
import type { Entry, DeltaField } from "../core/entry";
import { isCommand, type SlashCommand } from "../core/slash";
import type { ThreadInfo } from "../core/threadInfo";

/** Why Codex can't start, and a command that changes it. */
export interface Blocked {
  text: string;
  button: string;
  command: string;
}

/** A chat in the list of chats. */
export interface ChatTab {
  id: string;
  title: string;
  state: "idle" | "running" | "waiting";
}

/**
 * A request with the name of its chat; "" for the chat that is shown. edit: whether the user may edit its patch, or does.
 * whyNoEdit: why they can't edit a patch.
 */
export type ShownRequest = ServerRequest & { chat: string; edit: "none" | "offered" | "open"; whyNoEdit: string };

export interface Suggestion {
  /** The text that replaces the typed word. */
  insert: string;
  label: string;
  detail: string;
}

export type PickerKind = "model" | "permissions";

const changeActions = ["diff", "keep", "undo", "hunks", "all", "restore"] as const;
export type ChangeAction = (typeof changeActions)[number];

export interface PageState {
  /** The id of the chat that is shown. */
  chat: string;
  tabs: ChatTab[];
  entries: Entry[];
  requests: ShownRequest[];
  chips: Chip[];
  info: ThreadInfo;
  chosen: Chosen;
  /** When the running turn started, in milliseconds since 1970; 0: no turn runs. */
  since: number;
  title: string;
  /** The message that the user is writing in the chat that is shown. */
  draft: string;
  folder: string;
  /** The name of the folder; "" if the window has no other one. */
  folderName: string;
  blocked: Blocked | null;
}

export type ToPage =
  | { type: "state"; state: PageState }
  | { type: "entry"; entry: Entry }
  | { type: "append"; id: string; field: DeltaField; text: string }
  | { type: "remove"; id: string }
  | { type: "requests"; requests: ShownRequest[] }
  | { type: "running"; since: number }
  | { type: "tabs"; tabs: ChatTab[]; chat: string }
  | { type: "chips"; chips: Chip[] }
  | { type: "problem"; text: string }
  | { type: "suggestions"; number: number; suggestions: Suggestion[] }
  | { type: "info"; info: ThreadInfo; chosen: Chosen }
  | { type: "picker"; kind: PickerKind; groups: Group[] }
  | { type: "files"; paths: string[] }
  | { type: "title"; title: string }
  | { type: "sent"; text: string; ok: boolean }
  | { type: "focus" };

export type FromPage =
  | { type: "ready" }
  | { type: "send"; text: string }
  | { type: "draft"; id: string; text: string }
  | { type: "stop" }
  | { type: "answer"; id: string; choice: Choice; values: Values }
  | { type: "diff" | "edit" | "discardEdit"; id: string }
  | { type: "openPolicy"; id: string; index: number }
  | { type: "change"; id: string; index: number; action: ChangeAction; hunk: number | undefined }
  | { type: "notice"; id: string; index: number }
  | { type: "seen"; ids: string[] }
  | { type: "open"; href: string }
  | { type: "command"; name: SlashCommand; rest: string }
  | { type: "suggest"; query: string; number: number }
  | { type: "addContext" }
  | { type: "removeChip"; id: string }
  | { type: "image"; name: string; data: Uint8Array }
  | { type: "dropFiles"; uris: string[] }
  | { type: "pick"; kind: PickerKind }
  | { type: "choose"; kind: PickerKind; setting: Setting; value: string }
  | { type: "checkFiles"; paths: string[] }
  | { type: "openFile"; path: string; line: number; column: number }
  | { type: "tab"; action: "select" | "close"; id: string }
  | { type: "newChat" }
  | { type: "chooseFolder" }
  | { type: "unblock" };

/** The maximal number of names of files in one message. */
export const maxFiles = 200;

const isNames = (value: unknown): value is string[] => Array.isArray(value) && value.length <= maxFiles && value.every((one) => typeof one === "string");

const isPickerKind = (value: unknown): value is PickerKind => value === "model" || value === "permissions";

/** Validates a message from the webview, which shows text of the model. Returns undefined for an invalid one. */
export function parseMessage(raw: unknown): FromPage | undefined {
  if (typeof raw !== "object" || raw === null) return undefined;
  const m = raw as Record<string, unknown>;
  const text = (name: string): string | undefined => (typeof m[name] === "string" ? m[name] : undefined);
  switch (m["type"]) {
    case "ready":
    case "stop":
    case "unblock":
    case "addContext":
    case "newChat":
    case "chooseFolder":
      return { type: m["type"] };
    case "send": {
      const message = text("text")?.trim();
      return message === undefined ? undefined : { type: "send", text: message };
    }
    case "draft": {
      const [id, draft] = [text("id"), text("text")];
      return id === undefined || draft === undefined ? undefined : { type: "draft", id, text: draft };
    }
    case "command": {
      const name = m["name"];
      return isCommand(name) ? { type: "command", name, rest: text("rest") ?? "" } : undefined;
    }
    case "suggest": {
      const query = text("query");
      const number = m["number"];
      return query === undefined || query.length > 512 || typeof number !== "number" ? undefined : { type: "suggest", query, number };
    }
    case "image": {
      const [name, data] = [text("name"), m["data"]];
      if (name === undefined || !(data instanceof Uint8Array || data instanceof ArrayBuffer)) return undefined;
      return { type: "image", name, data: new Uint8Array(data) };
    }
    case "pick":
      return isPickerKind(m["kind"]) ? { type: "pick", kind: m["kind"] } : undefined;
    case "choose": {
      const [kind, setting, value] = [m["kind"], m["setting"], text("value")];
      return isPickerKind(kind) && isSetting(setting) && value !== undefined ? { type: "choose", kind, setting, value } : undefined;
    }
    case "checkFiles":
      return isNames(m["paths"]) ? { type: "checkFiles", paths: m["paths"] } : undefined;
    case "dropFiles":
      return isNames(m["uris"]) ? { type: "dropFiles", uris: m["uris"] } : undefined;
    case "openFile": {
      const [path, line, column] = [text("path"), m["line"], m["column"]];
      return path === undefined || typeof line !== "number" || typeof column !== "number" ? undefined : { type: "openFile", path, line, column };
    }
    case "tab": {
      const [action, id] = [m["action"], text("id")];
      return (action === "select" || action === "close") && id !== undefined ? { type: "tab", action, id } : undefined;
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
    case "edit":
    case "discardEdit":
    case "removeChip": {
      const id = text("id");
      return id === undefined ? undefined : { type: m["type"], id };
    }
    case "notice":
    case "openPolicy": {
      const id = text("id");
      const index = m["index"];
      return id === undefined || typeof index !== "number" ? undefined : { type: m["type"], id, index };
    }
    case "change": {
      const [id, index, hunk] = [text("id"), m["index"], m["hunk"]];
      const action = changeActions.find((one) => one === m["action"]);
      if (id === undefined || action === undefined || typeof index !== "number" || (hunk !== undefined && typeof hunk !== "number")) return undefined;
      return { type: "change", id, index, action, hunk };
    }
    case "seen": {
      const ids = m["ids"];
      return Array.isArray(ids) && ids.every((id) => typeof id === "string") ? { type: "seen", ids } : undefined;
    }
    case "open": {
      const href = text("href");
      return href !== undefined && /^(?:https?:\/\/|mailto:)/i.test(href) ? { type: "open", href } : undefined;
    }
    default:
      return undefined;
  }
}
