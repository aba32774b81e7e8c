// Which conversation a folder has, in a file of the workspace's storage. VS Code's own memento is written some time
// later: a window that is reloaded at once finds what was there before.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Conversation } from "../core/sessionHost";

/** folder: undefined where no folder is open, and nothing is remembered. */
export class Memory {
  constructor(private readonly folder: string | undefined) {}

  get conversation(): Conversation | undefined {
    if (!this.folder) return undefined;
    try {
      const { key, threadId } = JSON.parse(readFileSync(this.file(this.folder), "utf8")) as Partial<Conversation>;
      return typeof key === "string" && typeof threadId === "string" ? { key, threadId } : undefined;
    } catch {
      return undefined; // there is none, or one that can't be read: the folder begins anew
    }
  }

  /** Throws when it can't be written. */
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
