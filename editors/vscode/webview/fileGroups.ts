// The files of a card, by folder if there are many. The rows of a closed folder do not exist.
import type { FileChange } from "../src/core/entry";
import { type FileGroup, groupFiles } from "../src/core/fileGroups";
import * as strings from "../src/core/strings/changes";
import { button, el } from "./dom";
import { counts, displayPath, fileRow } from "./fileRow";
import { keepFocus, named } from "./focus";

/** How many rows an open folder has at first, and how many a button adds. */
const part = 50;

/** Returns the elements of a file. folder: the one under which the row is; "" if it is under none. */
type Row<T> = (file: T, index: number, folder: string) => HTMLElement[];

export class FileGroups {
  /** The number of rows of each open folder. */
  private readonly open = new Map<string, number>();

  constructor(private readonly redraw: () => void) {}

  /** Returns the rows of the files. note: what a folder says about its files. */
  rows<T extends FileChange>(files: T[], row: Row<T>, note: (files: T[]) => string = () => ""): HTMLElement[] {
    const groups = groupFiles(files, (file) => displayPath(file.path.split(" → ")[0]!));
    return groups?.flatMap((group) => this.group(group, row, note)) ?? files.flatMap((file, index) => row(file, index, ""));
  }

  private group<T extends FileChange>(group: FileGroup<T>, row: Row<T>, note: (files: T[]) => string): HTMLElement[] {
    const { folder, files } = group;
    const shown = this.open.get(folder) ?? 0;
    const toggle = button("", "group", () => this.show(folder, shown > 0 ? 0 : part));
    toggle.title = strings.files.in(folder);
    toggle.setAttribute("aria-expanded", String(shown > 0));
    const state = [strings.files.count(files.length), note(files.map(({ file }) => file))].filter(Boolean).join(", ");
    const sums = el("span", { class: "sums" }, ...counts(group), el("span", { class: "note" }, state));
    const fold = el("span", { class: "fold" }, shown > 0 ? "▾" : "▸");
    fold.setAttribute("aria-hidden", "true");
    toggle.append(fold, el("span", { class: "about" }, el("code", { class: "name" }, strings.files.in(folder)), sums));
    const more = button(strings.files.more(files.length - shown), "secondary", () => this.show(folder, shown + part));
    return [
      named(toggle, `group-${folder}`),
      ...(shown > 0 ? [el("div", { class: "grouped", role: "group", label: strings.files.in(folder) }, ...files.slice(0, shown).flatMap(({ file, index }) => row(file, index, folder)))] : []),
      ...(shown > 0 && shown < files.length ? [el("div", { class: "row" }, named(more, `more-${folder}`))] : []),
    ];
  }

  private show(folder: string, rows: number): void {
    if (rows === 0) this.open.delete(folder);
    else this.open.set(folder, rows);
    this.redraw();
  }
}

/** Returns the files of a request. */
export function fileList(files: FileChange[]): HTMLElement {
  const node = el("div", { class: "files" });
  const draw = (): void => {
    const refocus = keepFocus(node);
    node.replaceChildren(...groups.rows(files, (file, _, folder) => [fileRow(file, { folder })]));
    refocus();
  };
  const groups: FileGroups = new FileGroups(draw);
  draw();
  return node;
}
