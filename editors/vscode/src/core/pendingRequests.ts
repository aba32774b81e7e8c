// The questions that wait for a person. Each is answered exactly once; what nobody answers any more is declined.
import { type Ask, answerOf, askOf, type Choice, type Values } from "./serverRequest";
import type { Change } from "./protocol";
import type { Id } from "../rpc/peer";

interface Waiting {
  ask: Ask;
  id: Id;
  params: unknown;
  changes: Change[];
  answer(value: unknown): void;
}

export class Questions {
  private readonly waiting = new Map<string, Waiting>();
  private count = 0;

  constructor(private readonly changed: (asks: Ask[]) => void) {}

  list(): Ask[] {
    return [...this.waiting.values()].map((w) => w.ask);
  }

  changes(id: string): Change[] {
    return this.waiting.get(id)?.changes ?? [];
  }

  /** undefined: the method is no question. */
  take(id: Id, method: string, params: unknown, changes: Change[]): Promise<unknown> | undefined {
    // Of its own: an app-server that is started anew counts from 0 again, and a notification of the one before must answer nothing.
    const key = `ask-${++this.count}`;
    const ask = askOf(key, method, params, changes);
    if (!ask) return undefined;
    return new Promise((answer) => {
      this.waiting.set(key, { ask, id, params, changes, answer });
      this.changed(this.list());
    });
  }

  /** False when the question is not there any more. */
  answer(id: string, choice: Choice, values: Values): boolean {
    const one = this.waiting.get(id);
    if (!one) return false;
    this.waiting.delete(id);
    one.answer(answerOf(one.ask, one.params, choice, values));
    this.changed(this.list());
    return true;
  }

  /** Codex does not want to know any more. Its answer is of no use, and is no. */
  withdraw(id: Id): void {
    for (const [key, one] of this.waiting) {
      if (one.id === id) this.answer(key, "decline", {}); // 1 and "1" are two questions
    }
  }

  /** Those that fit are declined. */
  drop(fits: (ask: Ask) => boolean): void {
    for (const ask of this.list()) {
      if (fits(ask)) this.answer(ask.id, "decline", {});
    }
  }
}
