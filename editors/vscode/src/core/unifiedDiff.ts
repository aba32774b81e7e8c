// Writes the difference of two texts as a unified diff.
import { linesOf } from "./merge";

type Line = [mark: " " | "-" | "+", text: string];

const context = 3;
const maxCells = 4_000_000; // of the table below; larger changes are shown as one

/** Returns the diff of a file; "" for equal texts. */
export function unifiedDiff(path: string, before: string, after: string): string {
  const lines = compare(linesOf(Buffer.from(before)), linesOf(Buffer.from(after)));
  const isNear = lines.map((_, i) => lines.slice(Math.max(0, i - context), i + context + 1).some(([mark]) => mark !== " "));
  let [out, old, now] = ["", 1, 1];
  for (let from = 0; from < lines.length; ) {
    let to = from;
    while (to < lines.length && isNear[to] === isNear[from]) to++;
    const part = lines.slice(from, to);
    const [removed, added] = [count(part, "+"), count(part, "-")];
    if (isNear[from]) out += `@@ -${range(old, removed)} +${range(now, added)} @@\n${part.map(toText).join("")}`;
    [old, now, from] = [old + removed, now + added, to];
  }
  return out && `--- a/${path}\n+++ b/${path}\n${out}`;
}

/** Returns the number of lines of one side. other: the mark of the other side. */
const count = (lines: Line[], other: string): number => lines.filter(([mark]) => mark !== other).length;

const range = (first: number, length: number): string => `${length === 0 ? first - 1 : first},${length}`;

function toText([mark, line]: Line): string {
  const text = mark + Buffer.from(line, "latin1").toString();
  return text.endsWith("\n") ? text : `${text}\n\\ No newline at end of file\n`;
}

/** Returns the lines of both texts: those of the longest common sequence once. */
function compare(a: string[], b: string[]): Line[] {
  let [start, end] = [0, 0];
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const same = (lines: string[]): Line[] => lines.map((line) => [" ", line]);
  return [...same(a.slice(0, start)), ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)), ...same(a.slice(a.length - end))];
}

function middle(a: string[], b: string[]): Line[] {
  const width = b.length + 1;
  const isSmall = (a.length + 1) * width <= maxCells;
  const common = new Uint32Array(isSmall ? (a.length + 1) * width : 0); // of the rests from i and j
  for (let i = a.length - 1; isSmall && i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1]! + 1 : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (isSmall && i < a.length && j < b.length && a[i] === b[j]) {
      lines.push([" ", a[i++]!]);
      j++;
    } else if (i < a.length && (j === b.length || !isSmall || common[(i + 1) * width + j]! >= common[i * width + j + 1]!)) {
      lines.push(["-", a[i++]!]);
    } else {
      lines.push(["+", b[j++]!]);
    }
  }
  return lines;
}
