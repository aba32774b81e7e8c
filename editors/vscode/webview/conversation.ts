// The conversation: entries in order, at most one drawing a frame, and the end kept in sight while the person is there.
import type { Entry, Growing } from "../src/core/entry";
import { byId, el } from "./dom";
import { type View, view } from "./entries";

export class Log {
  private readonly node = byId("log");
  private readonly views = new Map<string, { kind: Entry["kind"]; view: View }>();
  private readonly dirty = new Set<View>();
  private frame = 0;
  private atEnd = true;
  private top = 0;

  constructor(private readonly follow: (href: string) => void) {
    this.node.addEventListener("scroll", () => {
      // Only a person scrolls up: what grows, or is laid out anew, leaves the top where it is.
      const { scrollTop, scrollHeight, clientHeight } = this.node;
      if (scrollHeight - scrollTop - clientHeight < 40) this.atEnd = true;
      else if (scrollTop < this.top) this.atEnd = false;
      this.top = scrollTop;
    });
    new ResizeObserver(() => this.stay()).observe(this.node);
  }

  reset(entries: Entry[]): void {
    this.views.clear();
    this.dirty.clear();
    this.atEnd = true;
    this.node.replaceChildren();
    if (entries.length === 0) this.node.append(welcome());
    for (const entry of entries) this.entry(entry);
  }

  entry(entry: Entry): void {
    const known = this.views.get(entry.id);
    if (known?.kind === entry.kind) {
      known.view.update(entry);
    } else {
      const made = view(entry, this.follow);
      if (known) known.view.node.replaceWith(made.node);
      else this.node.append(made.node);
      this.views.set(entry.id, { kind: entry.kind, view: made });
      this.node.querySelector(".welcome")?.remove();
    }
    if (entry.kind === "user") this.atEnd = true; // who sends wants to see the answer
    this.stay();
  }

  grow(id: string, field: Growing, text: string): void {
    const known = this.views.get(id)?.view;
    if (!known) return;
    known.grow(field, text);
    this.dirty.add(known);
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      for (const one of this.dirty) one.draw();
      this.dirty.clear();
      this.stay();
    });
  }

  gone(id: string): void {
    this.views.get(id)?.view.node.remove();
    this.views.delete(id);
  }

  /** The last thing that Codex said, for a screen reader. */
  lastWords(): string {
    const said = [...this.node.querySelectorAll("article.assistant")].at(-1)?.textContent ?? "";
    return said.length > 300 ? `${said.slice(0, 300)}…` : said;
  }

  stay(): void {
    if (this.atEnd) this.node.scrollTop = this.node.scrollHeight;
  }
}

function welcome(): HTMLElement {
  return el(
    "div",
    { class: "welcome" },
    el("p", {}, "Ask Codex about this folder, or have it change something."),
    el("p", {}, "What it wants to do beyond the rules is asked here first. A message while it works steers it."),
  );
}
