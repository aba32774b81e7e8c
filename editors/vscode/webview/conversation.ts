// Shows the entries in order, with at most one redraw per frame. It follows the end unless the user scrolls up.
import type { Entry, DeltaField } from "../src/core/entry";
import { byId, el } from "./dom";
import * as strings from "../src/core/strings";
import { type EntryActions, type View, view } from "./entries";

export class Log {
  private readonly node = byId("log");
  private readonly views = new Map<string, { kind: Entry["kind"]; view: View }>();
  private readonly dirty = new Set<View>();
  private frame = 0;
  private atEnd = true;
  private top = 0;

  constructor(private readonly actions: EntryActions) {
    this.node.addEventListener("scroll", () => {
      // Only the user scrolls up; new text and a new layout keep scrollTop.
      const { scrollTop, scrollHeight, clientHeight } = this.node;
      if (scrollHeight - scrollTop - clientHeight < 40) this.atEnd = true;
      else if (scrollTop < this.top) this.atEnd = false;
      this.top = scrollTop;
    });
    new ResizeObserver(() => this.scrollToEnd()).observe(this.node);
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
    const existing = this.views.get(entry.id);
    if (existing?.kind === entry.kind) {
      existing.view.update(entry);
    } else {
      const made = view(entry, this.actions);
      if (existing) existing.view.node.replaceWith(made.node);
      else this.node.append(made.node);
      this.views.set(entry.id, { kind: entry.kind, view: made });
      this.node.querySelector(".welcome")?.remove();
    }
    if (entry.kind === "user") this.atEnd = true; // show the reply
    this.scrollToEnd();
  }

  append(id: string, field: DeltaField, text: string): void {
    const existing = this.views.get(id)?.view;
    if (!existing) return;
    existing.append(field, text);
    this.dirty.add(existing);
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      for (const one of this.dirty) one.draw();
      this.dirty.clear();
      this.scrollToEnd();
    });
  }

  remove(id: string): void {
    this.views.get(id)?.view.node.remove();
    this.views.delete(id);
  }

  /** Returns the last message of Codex, for a screen reader. */
  lastWords(): string {
    const text = [...this.node.querySelectorAll("article.assistant")].at(-1)?.textContent ?? "";
    return text.length > 300 ? `${text.slice(0, 300)}…` : text;
  }

  scrollToEnd(): void {
    if (this.atEnd) this.node.scrollTop = this.node.scrollHeight;
  }
}

function welcome(): HTMLElement {
  return el(
    "div",
    { class: "welcome" },
    ...strings.chat.welcome.map((line) => el("p", {}, line)),
  );
}
