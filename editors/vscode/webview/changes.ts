// The card of the changes of a turn: its files and their hunks, with buttons to see, keep and undo them.
import type { ChangesEntry, Decided, Entry, TurnFile, TurnHunk } from "../src/core/entry";
import * as strings from "../src/core/strings/changes";
import type { ChangeAction } from "../src/view/messages";
import { button, el } from "./dom";
import { FileGroups } from "./fileGroups";
import { fileRow } from "./fileRow";
import { keepFocus, named } from "./focus";
import type { EntryActions, View } from "./view";

type Act = (action: ChangeAction, hunk?: number) => void;

export function changes(first: Entry, actions: EntryActions): View {
  const node = el("article", { class: "changes" });
  const unfolded = new Set<number>();
  const toggle = (entry: ChangesEntry, index: number): void => {
    if (!unfolded.delete(index)) unfolded.add(index);
    update(entry);
    if (unfolded.has(index) && entry.files[index]!.parts.length === 0) actions.change(entry.id, index, "hunks");
  };
  const file = (entry: ChangesEntry, one: TurnFile, index: number, folder: string): HTMLElement[] => {
    if (entry.phase !== "recorded") return [fileRow(one, { folder })];
    const act: Act = (action, hunk) => actions.change(entry.id, index, action, hunk);
    const parts = unfolded.has(index) ? [hunks(entry.id, one, index, act)] : [];
    return [...row(one, index, act, unfolded.has(index), () => toggle(entry, index), partsId(entry.id, index), folder), ...parts];
  };
  let drawn = first;
  const groups = new FileGroups(() => update(drawn));
  const update = (entry: Entry): void => {
    if (entry.kind !== "changes") return;
    drawn = entry;
    const refocus = keepFocus(node);
    const title = titleOf(entry);
    const all = (text: string, action: ChangeAction): HTMLElement => named(button(text, "secondary", () => actions.change(entry.id, -1, action)), action);
    node.setAttribute("aria-label", title);
    node.replaceChildren(
      el("h3", {}, title),
      ...groups.rows(entry.files, (one, i, folder) => file(entry, one, i, folder), decidedCounts),
      ...entry.uncovered.map((path) => el("p", { class: "note" }, strings.changes.notCovered(path))),
      ...(entry.phase === "unrecorded" ? [el("p", { class: "note" }, strings.changes.notRecorded)] : []),
      ...(entry.phase === "recorded" && entry.files.length > 0 ? [el("div", { class: "row" }, all(strings.changes.showAll, "all"), all(strings.changes.restore, "restore"))] : []),
    );
    refocus();
  };
  update(first);
  return { node, update, append: () => undefined, draw: () => undefined };
}

function titleOf({ phase, files }: ChangesEntry): string {
  if (phase === "running") return strings.changes.soFar(files.length);
  return files.length > 0 ? strings.changes.title(files.length) : strings.changes.onlyUncovered;
}

const partsId = (entry: string, index: number): string => `${entry}-${index}`;

const decided = (state: Decided): string => (state === "kept" ? strings.changes.kept : state === "undone" ? strings.changes.isUndone : "");

/** Returns how many files of a closed folder are kept and undone. */
function decidedCounts(files: TurnFile[]): string {
  const count = (state: Decided): number => files.filter((file) => file.state === state).length;
  return (["kept", "undone"] as const).filter((state) => count(state) > 0).map((state) => `${count(state)} ${decided(state)}`).join(", ");
}

function row(file: TurnFile, index: number, act: Act, isUnfolded: boolean, toggle: () => void, parts: string, folder: string): HTMLElement[] {
  const { openDiff, keep, undo, hunks, actionOn } = strings.changes;
  const one = (text: string, name: string, click: () => void): HTMLElement => named(button(text, "secondary", click, actionOn(text, file.path)), `${index}-${name}`);
  const decide = file.state === "" ? [one(keep, "keep", () => act("keep")), one(undo, "undo", () => act("undo"))] : [];
  const unfold = one(hunks, "hunks", toggle);
  unfold.setAttribute("aria-expanded", String(isUnfolded));
  if (isUnfolded) unfold.setAttribute("aria-controls", parts);
  const buttons = [one(openDiff, "diff", () => act("diff")), ...decide, ...(file.hunks > 0 ? [unfold] : [])];
  return [fileRow(file, { note: [decided(file.state), file.note].filter(Boolean).join(", "), folder }), el("div", { class: "row" }, ...buttons)];
}

function hunks(entry: string, file: TurnFile, index: number, act: Act): HTMLElement {
  const node = el("div", { class: "parts" }, ...file.parts.map((part, i) => hunk(file, part, `${index}-${i}`, (action) => act(action, i))));
  node.id = partsId(entry, index);
  const more = file.hunks - file.parts.length;
  if (file.parts.length > 0 && more > 0) node.append(el("div", { class: "row" }, named(button(strings.changes.moreHunks(more), "secondary", () => act("hunks")), `${index}-more`)));
  return node;
}

function hunk(file: TurnFile, part: TurnHunk, name: string, act: Act): HTMLElement {
  const { keep, undo, hunkOf, actionOn, moreLines } = strings.changes;
  const label = hunkOf(file.path, part.title);
  const text = el("pre", {}, ...part.lines.map((line) => el("span", { class: line.startsWith("+") ? "added" : "removed" }, `${line}\n`)));
  text.tabIndex = 0;
  const one = (shown: string, action: "keep" | "undo"): HTMLElement => named(button(shown, "secondary", () => act(action), actionOn(shown, label)), `${name}-${action}`);
  return el(
    "div", { class: "part", role: "group", label },
    el("p", {}, [part.title, decided(part.state)].filter(Boolean).join(", ")), text,
    ...(part.more > 0 ? [el("p", { class: "note" }, moreLines(part.more))] : []),
    ...(part.state === "" ? [el("div", { class: "row" }, one(keep, "keep"), one(undo, "undo"))] : []),
  );
}
