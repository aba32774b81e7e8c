// The row of a changed file in a card.
import type { FileChange } from "../src/core/entry";
import * as strings from "../src/core/strings";
import { relativePath } from "../src/core/text";
import { el } from "./dom";

// The folder of the conversation. Paths within it are shown relative to it; other paths are shown in full.
let folder = "";

export function setFolder(path: string): void {
  folder = path;
}

const displayPath = (path: string): string => relativePath(folder, path);

const verbs: Record<FileChange["kind"], string> = strings.chat.kinds;

export function fileRow(file: FileChange, mark: Node | string = "", note = ""): HTMLElement {
  return el(
    "div",
    { class: "file", title: file.path },
    mark,
    el("code", { class: "name" }, displayPath(file.path)),
    el("span", { class: "added", label: strings.chat.added(file.added) }, `+${file.added}`),
    el("span", { class: "removed", label: strings.chat.removed(file.removed) }, `−${file.removed}`),
    el("span", { class: "note" }, note || verbs[file.kind]),
  );
}
