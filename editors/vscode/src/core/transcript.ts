// The conversation as entries, in order. It is told of items and deltas, and tells what has changed, so that the
// page never draws again what stayed the same.
import type { Entry, Growing } from "./entry";
import { entryOf } from "./items";
import type { Item, Turn } from "./protocol";

export interface Watcher {
  entry(entry: Entry): void;
  grow(id: string, field: Growing, text: string): void;
  gone(id: string): void;
}

/** The most of a command's output that is kept for the chat. Codex has all of it. */
const maxOutput = 64 * 1024;
const cut = "\n… (more output is not shown)";

export class Transcript {
  private order: string[] = [];
  private readonly byId = new Map<string, Entry>();
  private notices = 0;

  constructor(private readonly watcher: Watcher) {}

  entries(): Entry[] {
    return this.order.flatMap((id) => this.byId.get(id) ?? []);
  }

  /** The whole of a thread, as it is after a resume; what was typed meanwhile stays at its end. */
  load(turns: Turn[], pending = this.entries().filter((entry) => entry.kind === "user" && entry.pending)): void {
    this.order = [];
    this.byId.clear();
    for (const turn of turns) {
      for (const item of turn.items) {
        const entry = entryOf(item);
        if (entry) this.put(settled(clip(entry)), false);
      }
      if (turn.status === "failed" && turn.error) this.notice("error", turn.error.message, false);
      if (turn.status === "interrupted") this.notice("info", "Stopped.", false);
    }
    for (const entry of pending) this.put(entry, false);
  }

  /** What was typed, until Codex has it. */
  pending(id: string, text: string): void {
    this.put({ kind: "user", id, text, pending: true });
  }

  unsent(id: string): void {
    this.remove(id);
  }

  item(item: Item): void {
    const entry = entryOf(item);
    if (!entry) return;
    if (item.clientId && item.clientId !== item.id) this.remove(item.clientId);
    const known = this.byId.get(entry.id);
    // The completed item of a command that never ran has no output, and what streamed is not to go away.
    if (known?.kind === "command" && entry.kind === "command" && entry.output === "") entry.output = known.output;
    this.put(clip(entry));
  }

  delta(id: string, field: Growing, text: string): void {
    const entry = this.byId.get(id);
    if (!entry || text === "") return;
    if (field === "text" && (entry.kind === "assistant" || entry.kind === "reasoning")) {
      entry.text += text;
    } else if (field === "output" && (entry.kind === "command" || entry.kind === "tool")) {
      if (entry.output.length >= maxOutput) return;
      if (entry.output.length + text.length > maxOutput) text = text.slice(0, maxOutput - entry.output.length) + cut;
      entry.output += text;
    } else {
      return;
    }
    this.watcher.grow(id, field, text);
  }

  /** What still runs when a turn ends does not any more. */
  settle(): void {
    for (const id of this.order) {
      const entry = this.byId.get(id);
      if (entry && "state" in entry && entry.state === "running") this.put(settled(entry));
    }
  }

  notice(level: "info" | "warning" | "error", text: string, tell = true): void {
    this.put({ kind: "notice", id: `notice-${++this.notices}`, level, text }, tell);
  }

  private put(entry: Entry, tell = true): void {
    if (!this.byId.has(entry.id)) this.order.push(entry.id);
    this.byId.set(entry.id, entry);
    if (tell) this.watcher.entry(entry);
  }

  private remove(id: string): void {
    if (!this.byId.delete(id)) return;
    this.order = this.order.filter((other) => other !== id);
    this.watcher.gone(id);
  }
}

function settled(entry: Entry): Entry {
  return "state" in entry && entry.state === "running" ? { ...entry, state: "failed" } : entry;
}

function clip(entry: Entry): Entry {
  if ("output" in entry && entry.output.length > maxOutput) entry.output = entry.output.slice(0, maxOutput) + cut;
  return entry;
}
