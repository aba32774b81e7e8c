// The view of an entry of the conversation, and the actions of its buttons.
import type { DeltaField, Entry } from "../src/core/entry";
import type { ChangeAction } from "../src/view/messages";

export interface EntryActions {
  openLink(href: string): void;
  /** Opens the file of a decision on a card. */
  openPolicy(entry: string, index: number): void;
  /** Runs a button of the changes of a turn: of all, of a file, or of a hunk. */
  change(entry: string, index: number, action: ChangeAction, hunk?: number): void;
  /** Runs an action of a notice. */
  notice(entry: string, index: number): void;
}

export interface View {
  readonly node: HTMLElement;
  update(entry: Entry): void;
  append(field: DeltaField, text: string): void;
  /** Draws appended text. Called at most once per frame. */
  draw(): void;
}
