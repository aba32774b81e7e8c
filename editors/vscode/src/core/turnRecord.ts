// The record of a turn: its snapshots, its changed files, and the plan of an undo.
import type { Decided, TurnHunk } from "./entry";
import type { State } from "./fileState";
import { linesOf, reverse, type Hunk } from "./merge";
import * as strings from "./strings/changes";
import { visibleValue } from "./text";

/** The maximal number of lines of a hunk in the chat, and of the characters of each. */
const maxLines = 40;
const maxLen = 300;

/** Permissions of files, which git does not keep. */
export interface Modes {
  /** Of the files before, which differ from the usual ones. */
  modes: [path: string, mode: number][];
  /** Of most files before, without and with the executable bit; null: there is none. */
  usualModes: [mode: number | null, mode: number | null];
}

/** Two snapshots, the second one later. */
export interface Record extends Modes {
  ref: string;
  time: number;
  /** The first line of the message. */
  text: string;
  before: string;
  after: string;
  /** Paths that were there before, but not in the snapshot. Those of folders end with a slash. */
  outside: string[];
  nested: string[];
  /** Files that can't be read, which no snapshot has. */
  unreadable: string[];
  /** Empty folders, which stay. */
  empty: string[];
  /** The files that the user saved meanwhile, and those among them whose changes can't be separated. */
  saved: string[];
  inseparable: string[];
  /** The window closed during the turn. So the changes have all until the next window opened, also the user's. */
  unfinished: boolean;
  /** The permissions of the files after an undo or restore. */
  newModes: [path: string, mode: number][];
  /** The id of the process that runs the turn, or writes the undo or restore. */
  owner: string;
  /** An undo or restore that is not complete. */
  writing: boolean;
}

export const emptyRecord: Omit<Record, "ref" | "before" | "after"> = {
  time: 0, text: "", outside: [], nested: [], unreadable: [], empty: [], saved: [], inseparable: [], unfinished: false, modes: [], usualModes: [null, null], newModes: [], owner: "", writing: false,
};

/** An undo or restore that a closed window has left incomplete. missing: the paths that are not written, or changed since. */
export interface Interrupted {
  record: Record;
  written: string[];
  missing: string[];
}

export interface ChangedFile {
  path: string;
  before: State;
  after: State;
  saved: boolean;
  inseparable: boolean;
  /** undefined: undone as a whole only. */
  hunks: Hunk[] | undefined;
  undone: Set<number>;
}

export interface Changes {
  files: ChangedFile[];
  uncovered: string[];
  /** Whether the snapshots differ, also in what is not covered. */
  differ: boolean;
}

export interface Step {
  base: State;
  target: State;
  inseparable: boolean;
}

export type Verdict = "restored" | "merged" | "conflict" | "refused" | "same";

export interface Plan {
  path: string;
  seen: State;
  result: State;
  verdict: Verdict;
  reason: string;
}

export interface Plans {
  plans: Plan[];
  uncovered: string[];
  /** Folders that stay when they are empty. */
  keeps: ReadonlySet<string>;
}

/** A save of the user during a turn: the contents on the disk around it; before is undefined for a new file. */
export interface Save {
  path: string;
  before: Buffer | undefined;
  after: Buffer;
}

/** Returns the state after the turn, without the hunks that are undone, and without hunk. */
function without(file: ChangedFile, hunk?: number): State {
  const undone = new Set([...file.undone, ...(hunk === undefined ? [] : [hunk])]);
  if (undone.size === 0 || !file.hunks) return file.after;
  return { ...file.after, data: reverse(file.before.data, file.after.data, file.hunks, undone) };
}

/** Returns the step that undoes a file, or one of its hunks. */
export function toStep(file: ChangedFile, hunk?: number): Step {
  const isPart = hunk !== undefined && file.before.kind === "file" && file.after.kind === "file";
  return { base: without(file), target: isPart ? without(file, hunk) : file.before, inseparable: file.inseparable };
}

/** Returns the first hunks of a file as text. state: of the file; kept: the hunks that the user kept. */
export function toTurnHunks(file: ChangedFile, count: number, state: Decided, kept: ReadonlySet<number>): TurnHunk[] {
  const [old, now] = [linesOf(file.before.data), linesOf(file.after.data)];
  return (file.hunks ?? []).slice(0, count).map((hunk, i) => {
    const lines = [...old.slice(hunk.before, hunk.before + hunk.removed).map((line) => ["-", line]), ...now.slice(hunk.after, hunk.after + hunk.added).map((line) => ["+", line])];
    return {
      title: strings.changes.hunk(hunk.after + 1, hunk.removed, hunk.added),
      lines: lines.slice(0, maxLines).map(([mark = "", line = ""]) => mark + toText(line)), more: Math.max(0, lines.length - maxLines),
      state: hunkState(i, state, file.undone, kept),
    };
  });
}

export function hunkState(hunk: number, file: Decided, undone: ReadonlySet<number>, kept: ReadonlySet<number>): Decided {
  if (file === "undone" || undone.has(hunk)) return "undone";
  return file === "kept" || kept.has(hunk) ? "kept" : "";
}

const toText = (line: string): string => visibleValue(Buffer.from(line, "latin1").toString().replace(/\n$/, "")).slice(0, maxLen);
