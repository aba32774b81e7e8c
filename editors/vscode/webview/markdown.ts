// Draws Markdown. Appended text redraws only the last block, because earlier blocks are final. Of a very long text, the
// first part is drawn, and the rest when the user asks for it.
import { type Block, type Inline, parse } from "../src/core/markdown";
import * as strings from "../src/core/strings/chat";
import { button, el } from "./dom";
import { withFiles } from "./files";
import { highlight } from "./highlight";

/** The maximal length of a text that is drawn without a question. */
const maxLength = 40_000;

export class Markdown {
  readonly node = el("div", { class: "markdown" });
  private text = "";
  private limit = maxLength;
  private readonly more = el("div", { class: "row" }, button(strings.chat.showRest, "secondary", () => this.showAll()));
  private finalLength = 0; // length of the text whose blocks are final
  private lastNodes: Node[] = []; // nodes of the last block
  private drawnLength = 0;

  constructor(private readonly openLink: (href: string) => void) {}

  append(text: string): void {
    this.text += text;
  }

  /** Replaces the text. */
  set(text: string): void {
    if (text === this.text) return;
    if (!text.startsWith(this.text)) {
      this.node.replaceChildren();
      this.finalLength = this.drawnLength = 0;
      this.lastNodes = [];
    }
    this.text = text;
  }

  draw(): void {
    const end = Math.min(this.limit, this.text.length);
    const isPart = this.text.length > this.limit;
    if (isPart && this.more.parentNode !== this.node) this.node.append(this.more);
    if (this.drawnLength === end) return;
    this.drawnLength = end;
    for (const node of this.lastNodes) this.node.removeChild(node);
    const placed = parse(this.text.slice(this.finalLength, end));
    const nodes = placed.map(({ block }) => this.block(block));
    if (isPart) this.more.before(...nodes);
    else this.node.append(...nodes);
    const last = placed.at(-1);
    this.lastNodes = nodes.slice(-1);
    if (last) this.finalLength += last.at;
  }

  private showAll(): void {
    this.limit = Infinity;
    this.more.remove();
    this.draw();
    this.node.tabIndex = -1;
    this.node.focus({ preventScroll: true }); // the button is gone
  }

  private block(block: Block): HTMLElement {
    switch (block.type) {
      case "paragraph":
        return el("p", {}, ...this.inlines(block.children));
      case "heading":
        // The webview uses h1 and h2 itself.
        return el(block.level <= 1 ? "h3" : block.level === 2 ? "h4" : "h5", {}, ...this.inlines(block.children));
      case "code":
        return code(block.text, block.lang);
      case "quote":
        return el("blockquote", {}, ...block.blocks.map((b) => this.block(b)));
      case "list": {
        const list = el(block.ordered ? "ol" : "ul", {}, ...block.items.map((item) => el("li", {}, ...this.item(item))));
        if (list instanceof HTMLOListElement) list.start = block.start;
        return list;
      }
      case "table": {
        const row = (tag: "th" | "td", cells: Inline[][]): HTMLElement => el("tr", {}, ...cells.map((cell) => el(tag, {}, ...this.inlines(cell))));
        const table = el("table", {}, el("thead", {}, row("th", block.head)), el("tbody", {}, ...block.rows.map((r) => row("td", r))));
        return el("div", { class: "wide" }, table);
      }
      case "rule":
        return el("hr");
    }
  }

  /** Draws the first paragraph of a list item without paragraph margins. */
  private item(blocks: Block[]): Node[] {
    const [first, ...rest] = blocks;
    if (first?.type !== "paragraph") return blocks.map((b) => this.block(b));
    return [el("span", {}, ...this.inlines(first.children)), ...rest.map((b) => this.block(b))];
  }

  private inlines(nodes: Inline[], inLink = false): Node[] {
    return nodes.flatMap((node): Node | Node[] => {
      switch (node.type) {
        case "text":
          return inLink ? document.createTextNode(node.text) : withFiles(node.text);
        case "code":
          return el("code", {}, ...(inLink ? [node.text] : withFiles(node.text)));
        case "break":
          return el("br");
        case "link": {
          const link = el("a", { title: node.href }, ...this.inlines(node.children, true));
          link.href = node.href;
          link.addEventListener("click", (event) => {
            event.preventDefault();
            this.openLink(node.href);
          });
          return link;
        }
        default:
          return el(node.type, {}, ...this.inlines(node.children, inLink));
      }
    });
  }
}

function code(text: string, lang: string): HTMLElement {
  const pre = el("pre", { label: strings.chat.code(lang) }, el("code", {}, ...highlight(text, lang)));
  pre.tabIndex = 0; // so that the keyboard can scroll it
  const copy = el("button", { type: "button", class: "copy", label: strings.chat.copyCode }, strings.chat.copy);
  copy.addEventListener("click", () => {
    void navigator.clipboard.writeText(text).then(() => {
      copy.textContent = strings.chat.copied;
      setTimeout(() => (copy.textContent = strings.chat.copy), 1500);
    });
  });
  return el("div", { class: "code" }, el("div", { class: "bar" }, el("span", {}, lang), copy), pre);
}
