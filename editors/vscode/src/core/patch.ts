// Computes both sides of a proposed change. The hunks of an update have no file header.
import type { Change } from "./protocol";

export interface DiffSides {
  path: string;
  /** The new path, if the file moves. */
  moved: string | null;
  before: string;
  after: string;
  /** Whether the hunks do not fit the current file. Then after is the text of the diff. */
  doesNotApply: boolean;
}

export function toDiffSides(change: Change, current: string): DiffSides {
  const { path } = change;
  switch (change.kind.type) {
    case "add":
      return { path, moved: null, before: current, after: change.diff, doesNotApply: false };
    case "delete":
      return { path, moved: null, before: current || change.diff, after: "", doesNotApply: false };
    case "update": {
      const after = apply(current, change.diff);
      const moved = change.kind.move_path;
      return after === undefined
        ? { path, moved, before: current, after: change.diff, doesNotApply: true }
        : { path, moved, before: current, after, doesNotApply: false };
    }
  }
}

interface Hunk {
  at: number; // the line of the old file, from 0
  old: string[];
  new: string[];
}

/** Completes a hunk whose last line lacks a newline on one side only: the other side has an empty line then. */
function endHunk(hunk: Hunk | undefined, open: Set<"old" | "new">): void {
  if (open.size !== 1) return;
  hunk?.[open.has("old") ? "new" : "old"].push("");
}

/** Applies a unified diff. Returns undefined if it does not fit. */
export function apply(text: string, diff: string): string | undefined {
  const hunks = parse(diff);
  if (!hunks) return undefined;
  const crlf = text.includes("\r\n");
  const lines = (crlf ? text.replaceAll("\r\n", "\n") : text).split("\n");
  const result: string[] = [];
  let from = 0;
  for (const hunk of hunks) {
    const at = findHunk(lines, hunk, from);
    if (at === undefined) return undefined;
    result.push(...lines.slice(from, at), ...hunk.new);
    from = at + hunk.old.length;
  }
  result.push(...lines.slice(from));
  return result.join(crlf ? "\r\n" : "\n");
}

/** Returns the index of the hunk's old lines: at the hunk's line, else at the nearest match after the previous hunk. */
function findHunk(lines: string[], hunk: Hunk, from: number): number | undefined {
  const fits = (at: number): boolean => at >= from && at + hunk.old.length <= lines.length && hunk.old.every((line, i) => lines[at + i] === line);
  if (hunk.old.length === 0) return Math.min(Math.max(hunk.at, from), lines.length);
  for (let away = 0; away <= lines.length; away++) {
    if (fits(hunk.at + away)) return hunk.at + away;
    if (fits(hunk.at - away)) return hunk.at - away;
  }
  return undefined;
}

function parse(diff: string): Hunk[] | undefined {
  const hunks: Hunk[] = [];
  let hunk: Hunk | undefined;
  let [last, open] = [" ", new Set<"old" | "new">()]; // the mark of the last line, and the sides without a newline at the end
  for (const line of diff.replace(/\n\nMoved to: [^\n]*\n?$/, "").replace(/\n$/, "").split("\n")) {
    const head = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@/.exec(line);
    if (head) {
      endHunk(hunk, open);
      open = new Set();
      // With a count of 0, the hunk follows the line.
      hunk = { at: Number(head[1]) - (head[2] === "0" ? 0 : 1), old: [], new: [] };
      hunks.push(hunk);
      continue;
    }
    if (!hunk) {
      if (line.startsWith("---") || line.startsWith("+++") || line === "") continue;
      return undefined;
    }
    switch (line[0]) {
      case "-":
        hunk.old.push(line.slice(1));
        break;
      case "+":
        hunk.new.push(line.slice(1));
        break;
      case " ":
        hunk.old.push(line.slice(1));
        hunk.new.push(line.slice(1));
        break;
      case "\\": // "No newline at end of file" refers to the previous line
        if (last !== "+") open.add("old");
        if (last !== "-") open.add("new");
        break;
      case undefined: // an empty context line without its leading blank
        hunk.old.push("");
        hunk.new.push("");
        break;
      default:
        return undefined;
    }
    last = line[0] ?? " ";
  }
  endHunk(hunk, open);
  return hunks.length > 0 ? hunks : undefined;
}
