// The row of a changed file in a card.
import type { FileChange } from "../src/core/entry";
import type { Counted } from "../src/core/fileGroups";
import * as strings from "../src/core/strings/chat";
import { relativePath } from "../src/core/text";
import { el } from "./dom";

// The folder of the conversation. Paths within it are shown relative to it; other paths are shown in full.
let folder = "";

export function setFolder(path: string): void {
  folder = path;
}

/** Returns a path as a card shows it. */
export const displayPath = (path: string): string => relativePath(folder, path);

const verbs: Record<FileChange["kind"], string> = strings.chat.kinds;

/** Returns the numbers of added and removed lines. */
export function counts({ added, removed }: Counted): HTMLElement[] {
  return [
    el("span", { class: "added", label: strings.chat.added(added) }, `+${added}`),
    el("span", { class: "removed", label: strings.chat.removed(removed) }, `−${removed}`),
  ];
}

/** Returns the row of a file. folder: the one whose group has the row; its name is left out. */
export function fileRow(file: FileChange, { mark = "", note = "", folder = "" }: { mark?: Node | string; note?: string; folder?: string } = {}): HTMLElement {
  return el(
    "div",
    { class: "file", title: file.path },
    mark,
    el("code", { class: "name" }, relativePath(folder, displayPath(file.path))),
    ...counts(file),
    el("span", { class: "note" }, note || verbs[file.kind]),
  );
}
