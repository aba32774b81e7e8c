// Keeps pasted images in private files of the workspace's storage until their turn has ended.
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkImage } from "../core/image";
import * as strings from "../core/strings/chat";
import { visibleValue } from "../core/text";
import type { OpenChat } from "./chats";

/** How long a file may stay that no chat of this window has, in milliseconds. */
const maxAge = 24 * 3600 * 1000;

export class Images {
  private readonly folder: string | undefined;

  /** storage: the storage folder of the workspace. Old images, which a window has left after a crash, are removed. */
  constructor(storage: string | undefined) {
    this.folder = storage === undefined ? undefined : join(storage, "images");
    if (!this.folder || !existsSync(this.folder)) return;
    for (const name of readdirSync(this.folder)) {
      const path = join(this.folder, name);
      if (statSync(path).mtimeMs < Date.now() - maxAge) this.delete(path);
    }
  }

  /** Adds an image to the message of a chat. Throws an error for the user. */
  add(chat: OpenChat, name: string, data: Uint8Array): void {
    const label = visibleValue(name).slice(0, 80) || strings.image.pasted;
    const images = chat.attachments.chips().filter((chip) => chip.kind === "image").length;
    const extension = checkImage(label, data, images);
    if (!this.folder) throw new Error(strings.image.noStorage);
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const path = join(this.folder, `${randomUUID()}.${extension}`);
    writeFileSync(path, data, { mode: 0o600, flag: "wx" });
    chat.attachments.add({ kind: "image", label: strings.image.label(label, data.length), text: "", path });
  }

  delete(path: string): void {
    rmSync(path, { force: true });
  }
}
