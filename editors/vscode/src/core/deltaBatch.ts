// Puts what grows together, so that a thousand deltas a second are some sixty messages to the page.
import type { Growing } from "./entry";

interface Growth {
  id: string;
  field: Growing;
  text: string;
}

export class Batch {
  private waiting: Growth[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly tell: (growth: Growth) => void,
    private readonly every = 16,
  ) {}

  add(id: string, field: Growing, text: string): void {
    const last = this.waiting.at(-1);
    if (last?.id === id && last.field === field) last.text += text;
    else this.waiting.push({ id, field, text });
    this.timer ??= setTimeout(() => this.flush(), this.every);
  }

  /** Everything that waits is told now: what comes next must not overtake it. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const waiting = this.waiting;
    this.waiting = [];
    for (const growth of waiting) this.tell(growth);
  }
}
