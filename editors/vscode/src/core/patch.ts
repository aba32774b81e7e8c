// What a file is after a change that Codex proposes. The hunks of an update come without a file header.
import type { Change } from "./protocol";

export interface Sides {
  path: string;
  /** Where the file is afterwards, if it moves. */
  moved: string | null;
  before: string;
  after: string;
  /** The hunks do not fit the file as it is now; after is the text of the change itself. */
  unclear: boolean;
}

export function sides(change: Change, current: string): Sides {
  const { path } = change;
  switch (change.kind.type) {
    case "add":
      return { path, moved: null, before: current, after: change.diff, unclear: false };
    case "delete":
      return { path, moved: null, before: current || change.diff, after: "", unclear: false };
    case "update": {
      const after = apply(current, change.diff);
      const moved = change.kind.move_path;
      return after === undefined
        ? { path, moved, before: current, after: change.diff, unclear: true }
        : { path, moved, before: current, after, unclear: false };
    }
  }
}

interface Hunk {
  at: number; // the line of the old file, from 0
  old: string[];
  new: string[];
}

/** The text with the hunks of a unified diff, or undefined when they do not fit it. */
export function apply(text: string, diff: string): string | undefined {
  const hunks = parse(diff);
  if (!hunks) return undefined;
  const crlf = text.includes("\r\n");
  const lines = (crlf ? text.replaceAll("\r\n", "\n") : text).split("\n");
  const result: string[] = [];
  let from = 0;
  for (const hunk of hunks) {
    const at = locate(lines, hunk, from);
    if (at === undefined) return undefined;
    result.push(...lines.slice(from, at), ...hunk.new);
    from = at + hunk.old.length;
  }
  result.push(...lines.slice(from));
  return result.join(crlf ? "\r\n" : "\n");
}

/** Where the hunk's old lines stand: at its own line, else at the nearest place behind what came before. */
function locate(lines: string[], hunk: Hunk, from: number): number | undefined {
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
  for (const line of diff.replace(/\n\nMoved to: [^\n]*\n?$/, "").replace(/\n$/, "").split("\n")) {
    const head = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@/.exec(line);
    if (head) {
      // With a count of 0 the line is the one before.
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
      case "\\": // "No newline at end of file" speaks of the line before
        break;
      case undefined: // an empty line whose blank was lost on the way
        hunk.old.push("");
        hunk.new.push("");
        break;
      default:
        return undefined;
    }
  }
  return hunks.length > 0 ? hunks : undefined;
}
