// Parses the Markdown of models to a tree of plain data. The webview creates an element for each node and sets text as
// text; HTML is never parsed.
import { type Inline, inline } from "./inline";

export type { Inline };

export type Block =
  | { type: "paragraph"; children: Inline[] }
  | { type: "heading"; level: number; children: Inline[] }
  | { type: "code"; lang: string; text: string }
  | { type: "quote"; blocks: Block[] }
  | { type: "list"; ordered: boolean; start: number; items: Block[][] }
  | { type: "table"; head: Inline[][]; rows: Inline[][][] }
  | { type: "rule" };

/** A block and its offset in the text. Appended text changes only the last block. */
export interface PositionedBlock {
  block: Block;
  at: number;
}

/** The maximal depth of nested blocks; deeper markup stays text. */
const maxDepth = 12;

export function parse(text: string): PositionedBlock[] {
  const lines: { text: string; at: number }[] = [];
  let at = 0;
  for (const line of text.split("\n")) {
    lines.push({ text: line.replace(/\r$/, ""), at });
    at += line.length + 1;
  }
  return blocks(lines, 0);
}

type Line = { text: string; at: number };

// A pattern reads a line from its start, and no part of it twice.
const fenceStart = /^ {0,3}(`{3,}|~{3,})/;
const fenceEnd = /^ {0,3}(`+|~+)\s*$/;
const headingStart = /^ {0,3}(#{1,6})(?=\s|$)/;
const item = /^(\s{0,3})([-*+]|\d{1,9}[.)])(\s+|$)/;
const quoteStart = /^ {0,3}> ?/;
const delimiterCell = /^:?-+:?$/;

/** Returns the mark that begins a code block, and the language, or nothing. */
function fence(text: string): { mark: string; lang: string } | undefined {
  const match = fenceStart.exec(text);
  const info = text.slice(match?.[0].length);
  return match && !info.includes("`") ? { mark: match[1]!, lang: info.trim().split(/\s/, 1)[0]! } : undefined;
}

/** Reports whether a line ends the code block that a mark has begun. */
function isFenceEnd(text: string, mark: string): boolean {
  const end = fenceEnd.exec(text)?.[1];
  return end !== undefined && end[0] === mark[0] && end.length >= mark.length;
}

function heading(text: string): { level: number; text: string } | undefined {
  const match = headingStart.exec(text);
  if (!match) return undefined;
  const title = text.slice(match[0].length).trim();
  let end = title.length;
  while (title[end - 1] === "#") end--;
  const isClosed = end > 0 && end < title.length && /\s/.test(title[end - 1]!);
  return { level: match[1]!.length, text: isClosed ? title.slice(0, end).trimEnd() : title };
}

/** Reports whether a line is a rule: three of a mark or more, with any space between them. */
function isRule(text: string): boolean {
  const mark = text.trimStart()[0] ?? "";
  if (!"-*_".includes(mark) || !/^ {0,3}\S/.test(text)) return false;
  let count = 0;
  for (const char of text.trim()) {
    if (char === mark) count++;
    else if (!/\s/.test(char)) return false;
  }
  return count >= 3;
}

/** Reports whether a line is the one below the head of a table. */
function isDelimiterRow(text: string): boolean {
  return cellTexts(text).every((cell) => delimiterCell.test(cell));
}

function blocks(lines: Line[], depth: number): PositionedBlock[] {
  const out: PositionedBlock[] = [];
  let i = 0;
  while (i < lines.length) {
    const line = lines[i]!;
    if (line.text.trim() === "") {
      i++;
      continue;
    }
    const start = line.at;
    const put = (block: Block): void => void out.push({ block, at: start });
    const code = fence(line.text);
    const head = heading(line.text);
    if (code) {
      const body: string[] = [];
      for (i++; i < lines.length && !isFenceEnd(lines[i]!.text, code.mark); i++) body.push(lines[i]!.text);
      i++;
      put({ type: "code", lang: code.lang, text: body.join("\n") });
    } else if (head) {
      put({ type: "heading", level: head.level, children: inline(head.text) });
      i++;
    } else if (isRule(line.text)) {
      put({ type: "rule" });
      i++;
    } else if (quoteStart.test(line.text) && depth < maxDepth) {
      const inner: Line[] = [];
      for (let match; i < lines.length && (match = quoteStart.exec(lines[i]!.text)); i++) {
        inner.push({ text: lines[i]!.text.slice(match[0].length), at: lines[i]!.at });
      }
      put({ type: "quote", blocks: blocks(inner, depth + 1).map((p) => p.block) });
    } else if (item.test(line.text) && depth < maxDepth) {
      const [block, next] = list(lines, i, depth);
      put(block);
      i = next;
    } else if (line.text.includes("|") && i + 1 < lines.length && isDelimiterRow(lines[i + 1]!.text)) {
      const head = cellTexts(line.text);
      const rows: Inline[][][] = [];
      // Rows with fewer cells than the head are not filled up: a wide head would make many short rows long.
      for (i += 2; i < lines.length && lines[i]!.text.includes("|"); i++) rows.push(cellTexts(lines[i]!.text).slice(0, head.length).map(inline));
      put({ type: "table", head: head.map(inline), rows });
    } else {
      const body: string[] = [line.text.trim()];
      for (i++; i < lines.length && !interrupts(lines[i]!.text); i++) {
        const text = lines[i]!.text;
        body.push((text.endsWith("  ") ? text.trimEnd() + "\\" : text).trim());
      }
      put({ type: "paragraph", children: inline(body.join("\n")) });
    }
  }
  return out;
}

function interrupts(text: string): boolean {
  return text.trim() === "" || fence(text) !== undefined || headingStart.test(text) || isRule(text) || quoteStart.test(text) || item.test(text);
}

function list(lines: Line[], from: number, depth: number): [Block, number] {
  const first = item.exec(lines[from]!.text)!;
  const ordered = /\d/.test(first[2]!);
  const items: Block[][] = [];
  let i = from;
  let filled = from; // the next line with text
  while (i < lines.length) {
    const match = item.exec(lines[i]!.text);
    if (!match || /\d/.test(match[2]!) !== ordered) break;
    const indent = match[1]!.length + match[2]!.length + Math.min(match[3]!.length || 1, 4);
    const inner: Line[] = [{ text: lines[i]!.text.slice(match[0].length), at: lines[i]!.at }];
    for (i++; i < lines.length; i++) {
      const { text, at } = lines[i]!;
      const spaces = text.length - text.trimStart().length;
      if (text.trim() === "") {
        // An empty line belongs to the item if the next line is indented, and to the list if another item follows.
        for (filled = Math.max(filled, i); filled < lines.length && lines[filled]!.text.trim() === ""; filled++);
        const next = lines[filled]?.text ?? "";
        if (next.length - next.trimStart().length < Math.min(indent, 2)) break;
        inner.push({ text: "", at });
      } else if (spaces >= Math.min(indent, 2)) {
        inner.push({ text: text.slice(Math.min(spaces, indent)), at });
      } else if (interrupts(text)) {
        break;
      } else {
        inner.push({ text: text.trim(), at }); // a continued paragraph
      }
    }
    items.push(blocks(inner, depth + 1).map((p) => p.block));
    let next = i;
    while (next < lines.length && lines[next]!.text.trim() === "") next++;
    if (next < lines.length && item.test(lines[next]!.text)) i = next;
    else break;
  }
  return [{ type: "list", ordered, start: ordered ? Number.parseInt(first[2]!, 10) : 1, items }, i];
}

/** Returns the texts of the cells of a table's line. */
function cellTexts(line: string): string[] {
  return line.trim().replace(/^\|/, "").replace(/\|$/, "").split("|").map((cell) => cell.trim());
}
