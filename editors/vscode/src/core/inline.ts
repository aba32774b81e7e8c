// Parses the spans of a Markdown text: emphasis, code, links. Each character is read a few times at most, however the
// text is made: an opening mark waits in a stack of its kind, and a closing mark takes the last one.
export type Inline =
  | { type: "text"; text: string }
  | { type: "code"; text: string }
  | { type: "break" }
  | { type: "strong" | "em" | "del"; children: Inline[] }
  | { type: "link"; href: string; children: Inline[] };

/** The maximal depth of nested spans; deeper markup stays text. */
const maxDepth = 12;

/** The maximal length of a link's target with its title. */
const maxTarget = 2048;

/** The longest run of * or _ that is emphasis. */
const maxRun = 3;

// Only these become links; other links become their text.
const allowedLink = /^(?:https?:\/\/[^\s<>]+|mailto:[^\s<>]+)$/i;

// Each is tried at one place, by lastIndex.
const plain = /[^\\\n`*_~[\]!<hH]+/y;
const marks = /\*+|_+|~+/y;
const ticks = /`+/y;
const angleLink = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/iy;
const scheme = /https?:\/\//iy;
const notInLink = /[\s<>"'`]/;
const notLastInLink = /[.,;:!?)\]*_]/;

/** A span with the depth of the spans in it. */
type Span = { node: Inline; depth: number };

/** An opening mark: a run of * or _, ~~, or a bracket. */
type Opener = { at: number; length: number };

export function inline(text: string): Inline[] {
  return new InlineParser(text).parse();
}

class InlineParser {
  private i = 0;
  private spans: Span[] = [];
  private readonly openers = { "*": [] as Opener[], "_": [] as Opener[], "~": [] as Opener[], "[": [] as Opener[] };
  private runs: Map<number, number[]> | undefined; // the places of runs of backticks by length, the last one first

  constructor(private readonly text: string) {}

  parse(): Inline[] {
    while (this.i < this.text.length) this.next();
    return joined(this.spans);
  }

  private next(): void {
    const { text, i } = this;
    const char = text[i]!;
    if (char === "\\" && /[\\`*_{}[\]()#+.!|<>~-]/.test(text[i + 1] ?? "")) this.push(text[i + 1]!, 2);
    else if (char === "\\" && text[i + 1] === "\n") this.add({ node: { type: "break" }, depth: 0 }, 2);
    else if (char === "\n") this.push(" ", 1);
    else if (char === "`") this.code();
    else if (char === "*" || char === "_" || char === "~") this.emphasis(char);
    else if (char === "[" || (char === "!" && text[i + 1] === "[")) this.bracket();
    else if (char === "]") this.link();
    else if (!(char === "<" && this.angle()) && !((char === "h" || char === "H") && this.bare())) {
      this.push(matchAt(plain, text, i)?.[0] ?? char);
    }
  }

  private push(text: string, length = text.length): void {
    this.add({ node: { type: "text", text }, depth: 0 }, length);
  }

  private add(span: Span, length: number): void {
    this.spans.push(span);
    this.i += length;
  }

  /** Takes a run of backticks: code up to the next run of the same length, or text. */
  private code(): void {
    const { text, i } = this;
    const { length } = matchAt(ticks, text, i)![0];
    this.runs ??= runsOf(text);
    const places = this.runs.get(length) ?? [];
    while (places.length > 0 && places.at(-1)! <= i) places.pop();
    const end = places.at(-1);
    if (end === undefined) return this.push("`".repeat(length));
    const inner = text.slice(i + length, end).replaceAll("\n", " ");
    const isPadded = inner.startsWith(" ") && inner.endsWith(" ") && inner.trim() !== "";
    this.add({ node: { type: "code", text: isPadded ? inner.slice(1, -1) : inner }, depth: 0 }, end + length - i);
  }

  /** Takes a run of a mark: it closes what it can, and opens the rest. */
  private emphasis(char: "*" | "_" | "~"): void {
    const { text, i } = this;
    const run = matchAt(marks, text, i)![0];
    const before = text[i - 1] ?? " ";
    const after = text[i + run.length] ?? " ";
    this.i += run.length;
    // An underscore within a word, as in snake_case, is no emphasis.
    const isMark = (char === "~" ? run.length === 2 : run.length <= maxRun) && !(char === "_" && /\w/.test(before) && /\w/.test(after));
    let left = run.length;
    if (isMark && /\S/.test(before) && !(char === "_" && /\w/.test(after))) left = this.close(char, left);
    if (left === 0) return;
    if (isMark && /\S/.test(after) && !(char === "_" && /\w/.test(before))) this.openers[char].push({ at: this.spans.length, length: left });
    this.push(char.repeat(left), 0);
  }

  /** Closes the last openers of a mark, and returns how much of the run is left. */
  private close(char: "*" | "_" | "~", length: number): number {
    const openers = this.openers[char];
    for (let opener = openers.at(-1); length > 0 && opener; opener = openers.at(-1)) {
      const both = Math.min(length, opener.length);
      const used = char === "~" ? 2 : both >= 3 ? 1 : both; // of *** the inner one is *
      if (!this.wrap(opener.at + 1, (children) => ({ type: char === "~" ? "del" : used === 2 ? "strong" : "em", children }))) break;
      length -= used;
      opener.length -= used;
      if (opener.length === 0) {
        openers.pop();
        this.spans.splice(opener.at, 1);
      } else {
        this.spans[opener.at]!.node = { type: "text", text: char.repeat(opener.length) };
      }
    }
    return length;
  }

  /** Puts the last spans, from a place on, into one. It returns false if that is too deep. */
  private wrap(from: number, make: (children: Inline[]) => Inline): boolean {
    let depth = 1;
    for (let i = from; i < this.spans.length; i++) depth = Math.max(depth, 1 + this.spans[i]!.depth);
    const isTooDeep = depth > maxDepth; // so are all spans that begin before
    for (const openers of Object.values(this.openers)) while (openers.length > 0 && (isTooDeep || openers.at(-1)!.at >= from)) openers.pop();
    if (isTooDeep) return false;
    this.spans.push({ node: make(joined(this.spans.splice(from))), depth });
    return true;
  }

  private bracket(): void {
    this.openers["["].push({ at: this.spans.length, length: 1 });
    this.push(this.text[this.i] === "!" ? "![" : "[");
  }

  /** Takes a closing bracket: a link if an opening one and a target are there, or text. */
  private link(): void {
    const opener = this.openers["["].pop();
    const target = opener && targetAt(this.text, this.i + 1);
    if (!opener || !target) return this.push("]");
    this.i = target.end;
    if (allowedLink.test(target.href) && this.wrap(opener.at + 1, (children) => ({ type: "link", href: target.href, children: children.flatMap(withoutLink) }))) {
      this.openers["["].length = 0; // a link has no link in it
    }
    this.spans[opener.at]!.node = { type: "text", text: "" };
  }

  /** Takes an address in angle brackets, if there is one. */
  private angle(): boolean {
    const match = matchAt(angleLink, this.text, this.i);
    if (match) this.address(match[1]!, match[0].length);
    return match !== null;
  }

  /** Takes an address that is written out, if there is one. It may be the text of a link. */
  private bare(): boolean {
    const { text, i } = this;
    const start = i + (matchAt(scheme, text, i)?.[0].length ?? 0);
    let end = start;
    if (start > i) while (end < text.length && !notInLink.test(text[end]!) && !text.startsWith("](", end)) end++;
    while (end > start && notLastInLink.test(text[end - 1]!)) end--;
    if (end > start) this.address(text.slice(i, end), end - i);
    return end > start;
  }

  private address(href: string, length: number): void {
    this.add({ node: { type: "link", href, children: [{ type: "text", text: href }] }, depth: 1 }, length);
  }
}

function matchAt(form: RegExp, text: string, at: number): RegExpExecArray | null {
  form.lastIndex = at;
  return form.exec(text);
}

function runsOf(text: string): Map<number, number[]> {
  const runs = new Map<number, number[]>();
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    const places = runs.get(run.length);
    if (places) places.push(index);
    else runs.set(run.length, [index]);
  }
  for (const places of runs.values()) places.reverse();
  return runs;
}

/** Returns the target of a link, in parentheses and maybe with a title, at a place of the text. */
function targetAt(text: string, at: number): { href: string; end: number } | undefined {
  const part = text.slice(at, at + maxTarget);
  const start = /^\(\s*<?/.exec(part)?.[0].length;
  if (start === undefined) return undefined;
  let end = start;
  let isNested = false;
  for (; end < part.length && !/[\s<>]/.test(part[end]!); end++) {
    if (part[end] === "(" && !isNested) isNested = true;
    else if (part[end] === ")" && isNested) isNested = false;
    else if (part[end] === "(" || part[end] === ")") break;
  }
  const rest = /^>?(?:\s+"[^"]*")?\s*\)/.exec(part.slice(end));
  return rest && !isNested ? { href: part.slice(start, end), end: at + end + rest[0].length } : undefined;
}

/** Returns the text of a link, and another node as it is. */
function withoutLink(node: Inline): Inline[] {
  if (node.type === "link") return node.children;
  return "children" in node ? [{ ...node, children: node.children.flatMap(withoutLink) }] : [node];
}

/** Returns the nodes of spans, with neighbouring texts as one. */
function joined(spans: Span[]): Inline[] {
  const out: Inline[] = [];
  for (const { node } of spans) {
    const last = out.at(-1);
    if (node.type !== "text") out.push(node);
    else if (last?.type === "text") out[out.length - 1] = { type: "text", text: last.text + node.text };
    else if (node.text !== "") out.push(node);
  }
  return out;
}
