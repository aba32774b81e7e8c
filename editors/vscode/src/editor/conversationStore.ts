// Saves the conversation of a folder in a file of the workspace's storage. VS Code saves a Memento with a delay, so a
// quick reload of the window would load an old value.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Conversation } from "../core/sessionHost";

/** folder: the storage folder; if it is undefined, nothing is saved. */
export class ConversationStore {
  constructor(private readonly folder: string | undefined) {}

  get conversation(): Conversation | undefined {
    if (!this.folder) return undefined;
    try {
      const { key, threadId } = JSON.parse(readFileSync(this.file(this.folder), "utf8")) as Partial<Conversation>;
      return typeof key === "string" && typeof threadId === "string" ? { key, threadId } : undefined;
    } catch {
      return undefined; // missing or invalid: start without a conversation
    }
  }

  /** Throws if the file can't be written. */
  set conversation(conversation: Conversation | undefined) {
    if (!this.folder) return;
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const file = this.file(this.folder);
    writeFileSync(`${file}.new`, JSON.stringify(conversation ?? {}), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  private file(folder: string): string {
    return join(folder, "conversation.json");
  }
}
