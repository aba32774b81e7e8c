// Saves the chats of a folder in a file of the workspace's storage. VS Code saves a Memento with a delay, so a quick
// reload of the window would load an old value.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Conversation } from "../core/sessionHost";

export interface SavedChat {
  id: string;
  title: string;
  conversation: Conversation | undefined;
  /** The folder of the chat; undefined: saved by a version with one folder. */
  folder?: string;
  /** The message that the user is writing; undefined: none. */
  draft?: string;
}

export interface SavedChats {
  chats: SavedChat[];
  /** The id of the chat that is shown. */
  current: string;
}

/** folder: the storage folder; if it is undefined, nothing is saved. */
export class ConversationStore {
  constructor(private readonly folder: string | undefined) {}

  get saved(): SavedChats {
    const none = { chats: [], current: "" };
    if (!this.folder) return none;
    try {
      const raw = JSON.parse(readFileSync(this.file(this.folder), "utf8")) as Partial<SavedChats> & Partial<Conversation>;
      if (Array.isArray(raw.chats)) return { chats: raw.chats.flatMap(toChat), current: String(raw.current) };
      const conversation = toConversation(raw); // of a version with one chat
      return conversation ? { chats: [{ id: "1", title: "", conversation }], current: "1" } : none;
    } catch {
      return none; // missing or invalid: start without a conversation
    }
  }

  /** Throws if the file can't be written. */
  set saved(saved: SavedChats) {
    if (!this.folder) return;
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const file = this.file(this.folder);
    writeFileSync(`${file}.new`, JSON.stringify(saved), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  private file(folder: string): string {
    return join(folder, "conversation.json");
  }
}

function toConversation(raw: unknown): Conversation | undefined {
  const { key, threadId } = (raw ?? {}) as Partial<Conversation>;
  return typeof key === "string" && typeof threadId === "string" ? { key, threadId } : undefined;
}

function toChat(raw: unknown): SavedChat[] {
  const { id, title, conversation, folder, draft } = (raw ?? {}) as Partial<SavedChat>;
  return typeof id === "string" ? [{ id, title: String(title ?? ""), conversation: toConversation(conversation), ...(typeof folder === "string" && { folder }), ...(typeof draft === "string" && { draft }) }] : [];
}
