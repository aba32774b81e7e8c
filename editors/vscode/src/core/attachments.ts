// The context that the user adds to a message: selections, problems, files and images. The extension holds it, because
// VS Code destroys a hidden webview.
import type { UserInput } from "./protocol";

export type ChipKind = "selection" | "problems" | "file" | "image";

/** An attachment as the chat shows it. */
export interface Chip {
  id: string;
  kind: ChipKind;
  label: string;
}

export interface Attachment extends Chip {
  /** The text for the model; "" for an image. */
  text: string;
  /** The private file of an image; "" for a text. */
  path: string;
}

let count = 0;

export class Attachments {
  private list: Attachment[] = [];

  /** changed: called after each change. deleteFile: removes the private file of an image. */
  constructor(
    private readonly changed: () => void,
    private readonly deleteFile: (path: string) => void,
  ) {}

  chips(): Chip[] {
    return this.list.map(({ id, kind, label }) => ({ id, kind, label }));
  }

  /** Adds an attachment. It replaces one of the same kind and label, except for images. */
  add(one: Omit<Attachment, "id">): void {
    this.list = [...this.list.filter((other) => one.kind === "image" || other.kind !== one.kind || other.label !== one.label), { ...one, id: `chip-${++count}` }];
    this.changed();
  }

  remove(id: string): void {
    this.discard(this.list.filter((one) => one.id === id));
    this.list = this.list.filter((one) => one.id !== id);
    this.changed();
  }

  /** Removes all attachments and returns them, for a message. The caller restores or discards them. */
  take(): Attachment[] {
    const taken = this.list;
    this.list = [];
    if (taken.length > 0) this.changed();
    return taken;
  }

  /** Puts back the attachments of a message that could not be sent. */
  restore(taken: Attachment[]): void {
    if (taken.length === 0) return;
    this.list = [...taken, ...this.list];
    this.changed();
  }

  /** Removes the private files of attachments that were sent or removed. */
  discard(taken: Attachment[]): void {
    for (const { path } of taken) if (path !== "") this.deleteFile(path);
  }
}

interface TextElement {
  byteRange: { start: number; end: number };
  placeholder: string;
}

const mention = /(?<=^|\s)@(?:"([^"\n]{1,512})"|([^\s"]{1,512}))/g;
const encoder = new TextEncoder();

/** Returns the spans of the paths that a text mentions as @path or @"path with blanks". exists: reports whether a path names a file or a folder. */
export function findMentions(text: string, exists: (path: string) => boolean): TextElement[] {
  const found: TextElement[] = [];
  for (const match of text.matchAll(mention)) {
    const quoted = match[1];
    const bare = match[2] ?? "";
    const path = quoted ?? (exists(bare) ? bare : bare.replace(/[.,;:!?)\]]+$/, ""));
    if (path === "" || !exists(path)) continue;
    const shown = quoted === undefined ? `@${path}` : match[0];
    const start = encoder.encode(text.slice(0, match.index)).length;
    found.push({ byteRange: { start, end: start + encoder.encode(shown).length }, placeholder: shown });
  }
  return found;
}

/** Returns a path as a mention in a text. */
export const asMention = (path: string): string => (/[\s"]/.test(path) ? `@"${path}"` : `@${path}`);

/**
 * Returns the input of a turn. Codex gives the model only the texts: it ignores an item of type mention that names a
 * file (measured with 0.169.0). So a mention is text, with its span in text_elements.
 */
export function toInput(text: string, attachments: Attachment[], exists: (path: string) => boolean): UserInput[] {
  const part = (one: string): UserInput => ({ type: "text", text: one, text_elements: findMentions(one, exists) });
  return [
    ...(text === "" ? [] : [part(text)]),
    ...attachments.map((one): UserInput => (one.kind === "image" ? { type: "localImage", path: one.path } : part(one.text))),
  ];
}
