// Completes @mentions and /commands in the message. The focus stays in the message; a screen reader gets the chosen
// suggestion by aria-activedescendant.
import { isCommand, matching } from "../src/core/slash";
import * as strings from "../src/core/strings/chat";
import type { Suggestion } from "../src/view/messages";
import { el } from "./dom";

export interface CompletionActions {
  /** Asks the extension for files and folders. */
  suggest(query: string, number: number): void;
  /** Runs a chosen command. */
  run(text: string): void;
  changed(): void;
  announce(text: string): void;
}

/** The typed word before the caret: @query or /query. */
interface Word {
  start: number;
  query: string;
  kind: "mention" | "command";
}

/** Waits for a pause in typing before a search, in milliseconds. */
const pause = 80;

export class Completion {
  private suggestions: Suggestion[] = [];
  private active = 0;
  private word: Word | undefined;
  private number = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly prompt: HTMLTextAreaElement,
    private readonly list: HTMLElement,
    private readonly actions: CompletionActions,
  ) {
    prompt.addEventListener("blur", () => this.close());
    list.addEventListener("mousedown", (event) => event.preventDefault()); // keep the focus in the message
  }

  get isOpen(): boolean {
    return !this.list.hidden;
  }

  /** Suggests for the word before the caret. */
  update(): void {
    this.word = wordAt(this.prompt.value.slice(0, this.prompt.selectionStart));
    this.number++;
    if (!this.word) return this.close();
    if (this.word.kind === "command") {
      this.show(this.number, matching(this.word.query).map((name) => ({ insert: `/${name}`, label: `/${name}`, detail: strings.slash.commands[name] })));
    } else {
      const { query } = this.word;
      const number = this.number;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => {
        if (number === this.number) this.actions.suggest(query, number);
      }, pause);
    }
  }

  /** Shows suggestions. number: of the question; an answer to an older one is ignored. */
  show(number: number, suggestions: Suggestion[]): void {
    if (number !== this.number || !this.word) return;
    if (suggestions.length === 0) return this.close();
    this.suggestions = suggestions;
    this.active = 0;
    this.list.replaceChildren(...suggestions.map((one, i) => {
      const node = el("li", { role: "option" }, el("span", { class: "label" }, one.label), " ", el("span", { class: "detail" }, one.detail));
      node.id = `suggestion-${i}`;
      node.addEventListener("click", () => this.accept(i, true));
      return node;
    }));
    this.list.hidden = false;
    this.mark();
    this.actions.announce(strings.completion.found(suggestions.length));
  }

  close(): void {
    this.number++;
    this.suggestions = [];
    this.list.hidden = true;
    this.list.replaceChildren();
    this.prompt.removeAttribute("aria-activedescendant");
  }

  /** Handles a key. Returns whether it was for the list. */
  key(event: KeyboardEvent): boolean {
    if (!this.isOpen || event.ctrlKey || event.altKey || event.metaKey) return false;
    switch (event.key) {
      case "ArrowDown":
      case "ArrowUp":
        this.active = (this.active + (event.key === "ArrowDown" ? 1 : this.suggestions.length - 1)) % this.suggestions.length;
        this.mark();
        break;
      case "Enter":
        if (event.shiftKey) return false;
        this.accept(this.active, true);
        break;
      case "Tab":
        if (event.shiftKey) return false;
        this.accept(this.active, false);
        break;
      case "Escape":
        this.close();
        break;
      default:
        return false;
    }
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  private mark(): void {
    [...this.list.children].forEach((node, i) => node.setAttribute("aria-selected", String(i === this.active)));
    const node = this.list.children[this.active];
    node?.scrollIntoView({ block: "nearest" });
    this.prompt.setAttribute("aria-activedescendant", node?.id ?? "");
  }

  /** Inserts a suggestion. run: a command runs at once. */
  private accept(index: number, run: boolean): void {
    const chosen = this.suggestions[index];
    const { word, prompt } = this;
    this.close();
    if (!chosen || !word) return;
    if (word.kind === "command" && run && isCommand(chosen.label.slice(1))) return this.actions.run(chosen.insert);
    const after = prompt.value.slice(prompt.selectionStart);
    const inserted = `${chosen.insert}${after.startsWith(" ") ? "" : " "}`;
    prompt.setRangeText(inserted, word.start, prompt.selectionStart, "end");
    this.actions.changed();
  }
}

/** Returns the word before the caret, if it can be completed. */
export function wordAt(before: string): Word | undefined {
  const command = /^\/([A-Za-z]*)$/.exec(before);
  if (command) return { start: 0, query: command[1]!, kind: "command" };
  const mention = /(?:^|\s)@(?:"([^"\n]*)|([^\s"]*))$/.exec(before);
  if (!mention) return undefined;
  return { start: mention.index + mention[0].indexOf("@"), query: mention[1] ?? mention[2] ?? "", kind: "mention" };
}
