// Parses the Markdown of models to a tree of plain data. The webview creates an element for each node and sets text as
// text; HTML is never parsed.
export type Inline =
  | { type: "text"; text: string }
  | { type: "code"; text: string }
  | { type: "break" }
  | { type: "strong" | "em" | "del"; children: Inline[] }
  | { type: "link"; href: string; children: Inline[] };

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

/** The maximal depth of nested blocks and spans; deeper markup stays text. */
const maxDepth = 12;

/** The maximal length of emphasis, code and links. It bounds the work for each position. */
const maxSpan = 2048;

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

const fence = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const heading = /^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$/;
const rule = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const item = /^(\s{0,3})([-*+]|\d{1,9}[.)])(\s+|$)(.*)$/;
const quote = /^ {0,3}> ?(.*)$/;
const delimiter = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

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
    let match: RegExpExecArray | null;
    if ((match = fence.exec(line.text))) {
      const [, mark = "", lang = ""] = match;
      const body: string[] = [];
      const closing = new RegExp(`^ {0,3}${mark[0] === "`" ? "`" : "~"}{${mark.length},}\\s*$`);
      for (i++; i < lines.length && !closing.test(lines[i]!.text); i++) body.push(lines[i]!.text);
      i++;
      put({ type: "code", lang: lang.trim().split(/\s/)[0] ?? "", text: body.join("\n") });
    } else if ((match = heading.exec(line.text))) {
      put({ type: "heading", level: match[1]!.length, children: inline(match[2] ?? "") });
      i++;
    } else if (rule.test(line.text)) {
      put({ type: "rule" });
      i++;
    } else if (quote.test(line.text) && depth < maxDepth) {
      const inner: Line[] = [];
      for (; i < lines.length && (match = quote.exec(lines[i]!.text)); i++) inner.push({ text: match[1]!, at: lines[i]!.at });
      put({ type: "quote", blocks: blocks(inner, depth + 1).map((p) => p.block) });
    } else if (item.test(line.text) && depth < maxDepth) {
      const [block, next] = list(lines, i, depth);
      put(block);
      i = next;
    } else if (line.text.includes("|") && i + 1 < lines.length && delimiter.test(lines[i + 1]!.text) && lines[i + 1]!.text.includes("-")) {
      const head = cells(line.text);
      const rows: Inline[][][] = [];
      for (i += 2; i < lines.length && lines[i]!.text.includes("|"); i++) rows.push(head.map((_, n) => cells(lines[i]!.text)[n] ?? []));
      put({ type: "table", head, rows });
    } else {
      const body: string[] = [line.text.trim()];
      for (i++; i < lines.length && !interrupts(lines[i]!.text); i++) {
        body.push(lines[i]!.text.replace(/ {2,}$/, "\\").trim());
      }
      put({ type: "paragraph", children: inline(body.join("\n")) });
    }
  }
  return out;
}

function interrupts(text: string): boolean {
  return text.trim() === "" || fence.test(text) || heading.test(text) || rule.test(text) || quote.test(text) || item.test(text);
}

function list(lines: Line[], from: number, depth: number): [Block, number] {
  const first = item.exec(lines[from]!.text)!;
  const ordered = /\d/.test(first[2]!);
  const items: Block[][] = [];
  let i = from;
  while (i < lines.length) {
    const match = item.exec(lines[i]!.text);
    if (!match || /\d/.test(match[2]!) !== ordered) break;
    const indent = match[1]!.length + match[2]!.length + Math.min(match[3]!.length || 1, 4);
    const inner: Line[] = [{ text: match[4]!, at: lines[i]!.at }];
    for (i++; i < lines.length; i++) {
      const { text, at } = lines[i]!;
      const spaces = text.length - text.trimStart().length;
      if (text.trim() === "") {
        // An empty line belongs to the item if the next line is indented, and to the list if another item follows.
        const next = lines.slice(i).find((l) => l.text.trim() !== "")?.text ?? "";
        if (next.length - next.trimStart().length < Math.min(indent, 2) ) break;
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

function cells(line: string): Inline[][] {
  return line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => inline(cell.trim()));
}

// Only these become links; other links become their text.
const allowedLink = /^(?:https?:\/\/[^\s<>]+|mailto:[^\s<>]+)$/i;

export function inline(text: string, depth = 0): Inline[] {
  const out: Inline[] = [];
  let plain = "";
  const flush = (): void => {
    if (plain) out.push({ type: "text", text: plain });
    plain = "";
  };
  let i = 0;
  while (i < text.length) {
    const char = text[i]!;
    const rest = text.slice(i, i + maxSpan)
    let match: RegExpExecArray | null;
    if (char === "\\" && /[\\`*_{}[\]()#+.!|<>~-]/.test(text[i + 1] ?? "")) {
      plain += text[i + 1];
      i += 2;
    } else if (char === "\\" && text[i + 1] === "\n") {
      flush();
      out.push({ type: "break" });
      i += 2;
    } else if (char === "\n") {
      plain += " ";
      i++;
    } else if (char === "`" && (match = /^(`+)([\s\S]*?[^`])\1(?!`)/.exec(rest))) {
      flush();
      out.push({ type: "code", text: match[2]!.replaceAll("\n", " ").replace(/^ (.*\S.*) $/, "$1") });
      i += match[0].length;
    } else if (char === "`") {
      const run = /^`+/.exec(rest)![0]; // not code: the whole run is text
      plain += run;
      i += run.length;
    } else if (depth < maxDepth && (match = /^(\*\*\*|___)(?=[^\s*_])([\s\S]*?[^\s*_])\1/.exec(rest)) && isDelimiter(text, i, match)) {
      flush();
      out.push({ type: "strong", children: [{ type: "em", children: inline(match[2]!, depth + 2) }] });
      i += match[0].length;
    } else if (depth < maxDepth && (match = /^(\*\*|__)(?=[^\s*_])([\s\S]*?[^\s])\1(?!\*)/.exec(rest)) && isDelimiter(text, i, match)) {
      flush();
      out.push({ type: "strong", children: inline(match[2]!, depth + 1) });
      i += match[0].length;
    } else if (depth < maxDepth && (match = /^([*_])(?=[^\s*_])([^*_]*?[^\s*_])\1/.exec(rest)) && isDelimiter(text, i, match)) {
      flush();
      out.push({ type: "em", children: inline(match[2]!, depth + 1) });
      i += match[0].length;
    } else if (depth < maxDepth && (match = /^~~(?=\S)([\s\S]*?\S)~~/.exec(rest))) {
      flush();
      out.push({ type: "del", children: inline(match[1]!, depth + 1) });
      i += match[0].length;
    } else if ((match = /^!?\[((?:[^\][]|\[[^\]]*\])*)\]\(\s*<?([^\s()<>]*(?:\([^\s()]*\))?[^\s()<>]*)>?(?:\s+"[^"]*")?\s*\)/.exec(rest)) && depth < maxDepth) {
      flush();
      const children = inline(match[1]!, depth + 1);
      if (allowedLink.test(match[2]!)) out.push({ type: "link", href: match[2]!, children });
      else out.push(...children);
      i += match[0].length;
    } else if ((match = /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/i.exec(rest)) || (match = /^(https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]*_])/i.exec(rest))) {
      flush();
      out.push({ type: "link", href: match[1]!, children: [{ type: "text", text: match[1]! }] });
      i += match[0].length;
    } else {
      const run = /^(?:\*+|_+|[^])/.exec(rest)![0]; // a run that opens nothing is text as a whole
      plain += run;
      i += run.length;
    }
  }
  flush();
  return out;
}

/** Reports whether a match is emphasis. An underscore within a word, as in snake_case, is not. */
function isDelimiter(text: string, at: number, match: RegExpExecArray): boolean {
  if (!match[1]!.startsWith("_")) return true;
  return !/\w/.test(text[at - 1] ?? "") && !/\w/.test(text[at + match[0].length] ?? "");
}
