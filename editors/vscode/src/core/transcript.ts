// The ordered entries of a conversation. It receives items and deltas, and reports each changed entry, so that the
// webview redraws nothing else.
import type { ChangesEntry, DeltaField, Entry, Level, NoticeAction, SentAttachment } from "./entry";
import { toEntry } from "./items";
import type { PolicyCard } from "./policy";
import type { Item, Turn } from "./protocol";
import * as strings from "./strings/chat";

export interface TranscriptObserver {
  entry(entry: Entry): void;
  append(id: string, field: DeltaField, text: string): void;
  remove(id: string): void;
}

/** The maximal length of a tool's output in the chat. */
const maxOutput = 64 * 1024;

export class Transcript {
  private order: string[] = [];
  private readonly byId = new Map<string, Entry>();
  /** The items that have started and not completed. */
  private readonly open = new Set<string>();
  private notices = 0;

  constructor(private readonly observer: TranscriptObserver) {}

  entries(): Entry[] {
    return this.order.flatMap((id) => this.byId.get(id) ?? []);
  }

  /**
   * Loads the turns of a resumed thread. Messages that were not sent yet stay at the end. The entries of unfinished
   * come before them: the part of the last turn that was shown when the program ended, and why it ended. Codex does
   * not record these.
   */
  load(turns: Turn[], pending = this.entries().filter((entry) => entry.kind === "user" && entry.pending), unfinished: Entry[] = []): void {
    this.order = [];
    this.byId.clear();
    this.open.clear();
    for (const turn of turns) {
      for (const item of turn.items) {
        const entry = toEntry(item);
        if (entry) this.put(failIfRunning(truncate(entry)), false);
      }
      if (turn.status === "failed" && turn.error) this.notice("error", turn.error.message, [], false);
      const isUnfinished = unfinished.length > 0 && turn === turns.at(-1);
      if (turn.status === "interrupted" && !isUnfinished) this.notice("info", strings.chat.stopped, [], false);
    }
    for (const entry of [...unfinished, ...pending]) {
      if (!this.byId.has(entry.id)) this.put(entry, false);
    }
  }

  /** Returns the entries of items that have started and not completed. */
  unfinished(): Entry[] {
    return this.entries().filter((entry) => this.open.has(entry.id));
  }

  /** Shows a message that Codex has not confirmed yet. */
  pending(id: string, content: { text: string; attachments: SentAttachment[] }): void {
    this.put({ kind: "user", id, ...content, pending: true });
  }

  removePending(id: string): void {
    this.remove(id);
  }

  item(item: Item, complete = false): void {
    const entry = toEntry(item);
    if (!entry) return;
    if (item.clientId && item.clientId !== item.id) this.remove(item.clientId);
    if (complete) this.open.delete(entry.id);
    else this.open.add(entry.id);
    const known = this.byId.get(entry.id);
    // A completed command without output keeps its streamed output.
    if (known?.kind === "command" && entry.kind === "command" && entry.output === "") entry.output = known.output;
    this.put(truncate(entry));
  }

  delta(id: string, field: DeltaField, text: string): void {
    const entry = this.byId.get(id);
    if (!entry || text === "") return;
    if (field === "text" && (entry.kind === "assistant" || entry.kind === "reasoning")) {
      entry.text += text;
    } else if (field === "output" && (entry.kind === "command" || entry.kind === "tool")) {
      if (entry.output.length >= maxOutput) return;
      if (entry.output.length + text.length > maxOutput) text = text.slice(0, maxOutput - entry.output.length) + strings.chat.truncated;
      entry.output += text;
    } else {
      return;
    }
    this.observer.append(id, field, text);
  }

  /** Marks running entries as failed at the end of a turn. */
  failRunning(): void {
    this.open.clear();
    for (const id of this.order) {
      const entry = this.byId.get(id);
      if (entry && "state" in entry && entry.state === "running") this.put(failIfRunning(entry));
    }
  }

  notice(level: Level, text: string, actions: NoticeAction[] = [], notify = true): Entry {
    const entry: Entry = { kind: "notice", id: `notice-${++this.notices}`, level, text, ...(actions.length > 0 && { actions }) };
    this.put(entry, notify);
    return entry;
  }

  /** Shows the changes of a turn, or updates their card. */
  changes(entry: ChangesEntry): void {
    this.put(entry);
  }

  /** Shows the changes of a turn at the end. old: their card so far. */
  lastChanges(entry: ChangesEntry | undefined, old: ChangesEntry | undefined): void {
    if (old && (old.id !== entry?.id || this.order.at(-1) !== old.id)) this.remove(old.id);
    if (entry) this.put(entry);
  }

  policy(card: PolicyCard): Entry {
    const entry: Entry = { kind: "policy", id: `policy-${++this.notices}`, ...card };
    this.put(entry);
    return entry;
  }

  private put(entry: Entry, notify = true): void {
    if (!this.byId.has(entry.id)) this.order.push(entry.id);
    this.byId.set(entry.id, entry);
    if (notify) this.observer.entry(entry);
  }

  private remove(id: string): void {
    if (!this.byId.delete(id)) return;
    this.order = this.order.filter((other) => other !== id);
    this.observer.remove(id);
  }
}

function failIfRunning(entry: Entry): Entry {
  return "state" in entry && entry.state === "running" ? { ...entry, state: "failed" } : entry;
}

function truncate(entry: Entry): Entry {
  if ("output" in entry && entry.output.length > maxOutput) entry.output = entry.output.slice(0, maxOutput) + strings.chat.truncated;
  return entry;
}
