// Shows the newest entries in order, with at most one redraw per frame. It follows the end unless the user scrolls up.
import type { Entry, DeltaField } from "../src/core/entry";
import { button, byId, el } from "./dom";
import * as strings from "../src/core/strings/chat";
import { view } from "./entries";
import type { EntryActions, View } from "./view";

/** The number of entries that are drawn at first, and that are added for each "Show earlier". */
const page = 100;

export class Log {
  private readonly node = byId("log");
  /** All entries in order; those before the drawn ones have no view. */
  private readonly entries = new Map<string, { entry: Entry; view?: View }>();
  private readonly earlier = button("", "secondary", () => this.showEarlier());
  private readonly earlierRow = el("div", { class: "row earlier" }, this.earlier);
  /** The number of entries that are not drawn. */
  private undrawn = 0;
  private readonly dirty = new Set<View>();
  private frame = 0;
  private atEnd = true;
  private top = 0;

  constructor(private readonly actions: EntryActions) {
    this.node.addEventListener("scroll", () => {
      // Only the user scrolls up; new text and a new layout keep scrollTop.
      const { scrollTop } = this.node;
      if (this.isAtEnd()) this.atEnd = true;
      else if (scrollTop < this.top) this.atEnd = false;
      this.top = scrollTop;
    });
    new ResizeObserver(() => this.scrollToEnd()).observe(this.node);
  }

  reset(entries: Entry[]): void {
    this.entries.clear();
    this.dirty.clear();
    this.atEnd = true;
    this.node.replaceChildren();
    if (entries.length === 0) this.node.append(welcome());
    this.undrawn = Math.max(0, entries.length - page);
    entries.forEach((entry, i) => (i < this.undrawn ? this.entries.set(entry.id, { entry }) : this.entry(entry)));
    this.showUndrawn();
  }

  entry(entry: Entry): void {
    const existing = this.entries.get(entry.id);
    // A card grows when the user opens a part of it, and they go on there.
    if (existing?.view?.node.contains(document.activeElement)) this.atEnd = this.isAtEnd();
    if (!existing) {
      this.node.querySelector(".welcome")?.remove();
      this.node.append(this.draw(entry));
      if (entry.kind === "user") this.atEnd = true; // show the reply
      if (this.atEnd) this.forgetEarlier();
    } else if (!existing.view) {
      existing.entry = entry;
    } else if (existing.entry.kind === entry.kind) {
      existing.entry = entry;
      existing.view.update(entry);
    } else {
      existing.view.node.replaceWith(this.draw(entry));
    }
    this.scrollToEnd();
  }

  append(id: string, field: DeltaField, text: string): void {
    const existing = this.entries.get(id);
    if (!existing) return;
    const fields = existing.entry as unknown as Partial<Record<DeltaField, string>>;
    fields[field] = (fields[field] ?? "") + text;
    if (!existing.view) return;
    existing.view.append(field, text);
    this.dirty.add(existing.view);
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      for (const one of this.dirty) one.draw();
      this.dirty.clear();
      this.scrollToEnd();
    });
  }

  remove(id: string): void {
    this.entries.get(id)?.view?.node.remove();
    this.entries.delete(id);
  }

  /** Returns the last message of Codex, for a screen reader. */
  lastWords(): string {
    const text = [...this.node.querySelectorAll("article.assistant")].at(-1)?.textContent ?? "";
    return text.length > 300 ? `${text.slice(0, 300)}…` : text;
  }

  private isAtEnd(): boolean {
    const { scrollTop, scrollHeight, clientHeight } = this.node;
    return scrollHeight - scrollTop - clientHeight < 40;
  }

  scrollToEnd(): void {
    if (this.atEnd) this.node.scrollTop = this.node.scrollHeight;
  }

  private draw(entry: Entry): HTMLElement {
    const made = view(entry, this.actions);
    this.entries.set(entry.id, { entry, view: made });
    return made.node;
  }

  /** Draws more of the entries before the drawn ones, and keeps what the user sees in its place. */
  private showEarlier(): void {
    const { scrollHeight, scrollTop } = this.node;
    const from = Math.max(0, this.undrawn - page);
    const nodes = [...this.entries.values()].slice(from, this.undrawn).map(({ entry }) => this.draw(entry));
    const next = this.earlierRow.nextElementSibling as HTMLElement;
    this.earlierRow.after(...nodes);
    this.undrawn = from;
    this.atEnd = false;
    this.showUndrawn();
    next.tabIndex = -1;
    next.focus({ preventScroll: true }); // the button is out of view, or gone
    this.node.scrollTop = scrollTop + this.node.scrollHeight - scrollHeight;
  }

  /** Removes the views of old entries while the user is at the end. */
  private forgetEarlier(): void {
    const drawn = this.entries.size - this.undrawn;
    if (drawn < 2 * page) return;
    for (const one of [...this.entries.values()].slice(this.undrawn, this.undrawn + drawn - page)) {
      one.view?.node.remove();
      delete one.view;
    }
    this.undrawn += drawn - page;
    this.showUndrawn();
  }

  private showUndrawn(): void {
    this.earlier.textContent = strings.chat.showEarlier(Math.min(page, this.undrawn), this.undrawn);
    if (this.undrawn === 0) this.earlierRow.remove();
    else if (this.earlierRow.parentNode !== this.node) this.node.prepend(this.earlierRow); // again would take the focus away
  }
}

function welcome(): HTMLElement {
  return el(
    "div",
    { class: "welcome" },
    ...strings.chat.welcome.map((line) => el("p", {}, line)),
  );
}
