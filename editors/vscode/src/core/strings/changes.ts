// The texts about the changes of a turn and of the working tree.
// The Neovim plugin has the same words in strings.lua.
import { plural } from "../text";

const maxNames = 20;
const someNames = (names: string[]): string => [...names.slice(0, maxNames), ...(names.length > maxNames ? [`${names.length - maxNames} more`] : [])].join(", ") || "none";

// The changes of the working tree
export const workingTree = {
  title: "Changes of the working tree",
  noGit: "The Git extension of VS Code is not enabled.",
  noRepository: "The folder is not in a Git repository.",
  none: "The working tree has no changes.",
};

// The files of a card, by folder
export const files = {
  in: (folder: string): string => (folder === "" ? "this folder" : `${folder}/`),
  count: (count: number): string => plural(count, "file"),
  more: (count: number): string => `Show ${plural(count, "more file")}`,
};

// The changes of a turn
export const changes = {
  title: (files: number): string => (files === 1 ? "1 file changed" : `${files} files changed`),
  soFar: (files: number): string => `${changes.title(files)} so far`,
  notRecorded: "There is no restore point, so that these files can't be undone here.",
  noRestorePoint: (why: string): string => `No restore point: ${why}`,
  tooSlow: (seconds: number): string => `the snapshot took longer than ${seconds} s`,
  noGit: "there is no git program on PATH",
  homeFolder: "snapshots of a home folder are too large",
  gitFailed: (command: string, why: string): string => `git ${command} failed: ${why}`,
  whileRunning: "A turn is running: wait for its end, or stop it.",
  notCovered: (path: string): string => `Not covered: ${path}`,
  onlyUncovered: "This turn changed files that can't be undone here",
  review: "Review",
  compaction: "Compaction",
  unfinished: "The window closed during this turn. All changes until it opened again are in it, also yours.",
  youSaved: "you saved this file during the turn",
  sizes: (before: number, after: number): string => `${before} bytes → ${after} bytes`,
  openDiff: "Open Diff",
  keep: "Keep",
  undo: "Undo",
  hunks: "Hunks",
  moreHunks: (count: number): string => `Show ${plural(count, "more hunk")}`,
  moreLines: (count: number): string => `… and ${plural(count, "more line")}: “Open Diff” has them`,
  showAll: "Show All Changes",
  allTitle: (turn: string): string => `Changes of “${turn}”`,
  actionOn: (action: string, path: string): string => `${action}: ${path}`,
  hunk: (line: number, removed: number, added: number): string => `Line ${line}: −${removed} +${added}`,
  hunkOf: (path: string, hunk: string): string => `${path}, ${hunk}`,
  kept: "kept",
  isUndone: "undone",
  diffTitle: (path: string): string => `${path}: the turn's changes`,
  undone: (path: string): string => `Undone: ${path}`,
  undoneMerged: (path: string): string => `Undone: ${path}; your later edits are kept.`,
  notUndone: (path: string, why: string): string => `${path} is not undone: ${why}`,
  conflict: "your later edits touch the same lines",
  inseparable: "you and Codex changed the same lines during the turn",
  changedMeanwhile: "the file changed in the meantime",
  notExact: "the editor can't show exactly these bytes",
  notInFolder: "the path is not in the folder",
  noParent: "its folder is missing, or is not a real folder of the workspace",
  isFolder: "the path is now a folder",
  isSpecial: "the path is now a special file, or can't be read",
  verdicts: {
    restored: "restored",
    merged: "restored, your later edits are kept",
    conflict: "conflict: not restored",
    refused: "not restored",
    same: "already as before",
  },
  restore: "Restore to Before This Turn",
  restoreButton: "Restore",
  restored: (done: number, not: number): string => `Restored: ${done}; not restored: ${not}.`,
  undoRestore: "Undo the Restore",
  interrupted: (written: string[], missing: string[]): string =>
    `VS Code was closed while it restored files. Restored: ${someNames(written)}. Not restored, or edited since: ${someNames(missing)}.`,
  finish: "Finish It",
  finishTitle: "Finish the Restore",
  takeBack: "Take It Back",
  leave: "Leave the Files",
  left: "The files stay as they are.",
  nothingToRestore: "No file needs a restore.",
  nothingToUndo: "There is no undo or restore to undo.",
  noRestorePoints: "This thread has no restore points.",
};
