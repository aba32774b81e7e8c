// The card of the changes of a turn: its files, with buttons to see, keep and undo them.
import type { ChangesEntry, Entry, TurnFile } from "../src/core/entry";
import * as strings from "../src/core/strings";
import type { ChangeAction } from "../src/view/messages";
import { button, el } from "./dom";
import type { EntryActions, View } from "./entries";
import { fileRow } from "./fileRow";

export function changes(first: Entry, actions: EntryActions): View {
  const node = el("article", { class: "changes" });
  const update = (entry: Entry): void => {
    if (entry.kind !== "changes") return;
    const { notCovered, restore, notRecorded } = strings.changes;
    const isRecorded = entry.phase === "recorded";
    const title = titleOf(entry);
    const focused = (document.activeElement as HTMLElement | null)?.dataset["change"];
    node.setAttribute("aria-label", title);
    node.replaceChildren(
      el("h3", {}, title),
      ...entry.files.flatMap((file, i) => (isRecorded ? row(file, i, (action) => actions.change(entry.id, i, action)) : [fileRow(file)])),
      ...entry.uncovered.map((path) => el("p", { class: "note" }, notCovered(path))),
      ...(entry.phase === "unrecorded" ? [el("p", { class: "note" }, notRecorded)] : []),
      ...(isRecorded && entry.files.length > 0 ? [el("div", { class: "row" }, named(button(restore, "secondary", () => actions.change(entry.id, -1, "restore")), "restore"))] : []),
    );
    // The buttons of a file go when it is done; then the focus goes to the next one.
    if (focused === undefined) return;
    const buttons = [...node.querySelectorAll<HTMLElement>("button")];
    const at = (name: string | undefined): number => Number(/^\d+/.exec(name ?? "")?.[0] ?? Infinity);
    (buttons.find((one) => one.dataset["change"] === focused) ?? buttons.find((one) => at(one.dataset["change"]) > at(focused)))?.focus();
  };
  update(first);
  return { node, update, append: () => undefined, draw: () => undefined };
}

function titleOf({ phase, files }: ChangesEntry): string {
  if (phase === "running") return strings.changes.soFar(files.length);
  return files.length > 0 ? strings.changes.title(files.length) : strings.changes.onlyUncovered;
}

function row(file: TurnFile, index: number, act: (action: ChangeAction) => void): HTMLElement[] {
  const { openDiff, keep, undo, hunks, kept, isUndone, actionOn } = strings.changes;
  const one = (text: string, action: ChangeAction): HTMLElement => named(button(text, "secondary", () => act(action), actionOn(text, file.path)), `${index}-${action}`);
  const done = file.state === "kept" ? kept : file.state === "undone" ? isUndone : "";
  const buttons = done ? [one(openDiff, "diff")] : [one(openDiff, "diff"), one(keep, "keep"), one(undo, "undo"), ...(file.hunks > 1 ? [one(hunks, "hunks")] : [])];
  return [fileRow(file, "", [done, file.note].filter(Boolean).join(", ")), el("div", { class: "row" }, ...buttons)];
}

function named(node: HTMLElement, name: string): HTMLElement {
  node.dataset["change"] = name;
  return node;
}
