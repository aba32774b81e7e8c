// Merges deltas, so that a thousand deltas a second become about sixty messages to the webview.
import type { DeltaField } from "./entry";

interface Delta {
  id: string;
  field: DeltaField;
  text: string;
}

export class DeltaBatch {
  private pending: Delta[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly send: (delta: Delta) => void,
    private readonly intervalMs = 16,
  ) {}

  add(id: string, field: DeltaField, text: string): void {
    const last = this.pending.at(-1);
    if (last?.id === id && last.field === field) last.text += text;
    else this.pending.push({ id, field, text });
    this.timer ??= setTimeout(() => this.flush(), this.intervalMs);
  }

  /** Sends all pending deltas. Call it before any other message, to keep the order. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const pending = this.pending;
    this.pending = [];
    for (const delta of pending) this.send(delta);
  }
}
