// The message that the user is writing. The draft is saved, because VS Code destroys a hidden webview.
import * as strings from "../src/core/strings";
import { byId } from "./dom";

export interface ComposerActions {
  send(text: string): void;
  stop(): void;
  saveDraft(draft: string): void;
}

export class Composer {
  private readonly form = byId<HTMLFormElement>("composer");
  private readonly prompt = byId<HTMLTextAreaElement>("prompt");
  private readonly hint = byId("hint");
  private readonly sendButton = byId<HTMLButtonElement>("send");
  private readonly stopButton = byId<HTMLButtonElement>("stop");
  private running = false;

  constructor(private readonly actions: ComposerActions, draft: string) {
    this.prompt.value = draft;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.prompt.addEventListener("keydown", (event) => {
      if (event.isComposing) return; // Enter confirms an input method
      if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        this.submit();
      } else if (event.key === "Escape" && this.running && this.prompt.value === "") {
        event.preventDefault();
        actions.stop();
      }
    });
    this.prompt.addEventListener("input", () => this.changed());
    this.stopButton.addEventListener("click", () => actions.stop());
    this.changed();
    this.setRunning(false);
  }

  setRunning(running: boolean): void {
    this.running = running;
    this.stopButton.hidden = !running;
    this.sendButton.textContent = running ? strings.chat.steerButton : strings.chat.sendButton;
    this.prompt.placeholder = running ? strings.chat.steer : strings.chat.ask;
    this.hint.textContent = running ? strings.chat.stops : strings.chat.sends;
  }

  block(blocked: boolean): void {
    this.form.hidden = blocked;
  }

  focus(): void {
    this.prompt.focus();
  }

  /** Appends a text to the draft. */
  add(text: string): void {
    const before = this.prompt.value;
    this.prompt.value = before && !before.endsWith("\n") ? `${before}\n${text}` : before + text;
    this.changed();
    this.focus();
    this.prompt.setSelectionRange(this.prompt.value.length, this.prompt.value.length);
  }

  /** Restores a message that could not be sent, unless there is a new draft. */
  restore(text: string): void {
    if (this.prompt.value !== "") return;
    this.prompt.value = text;
    this.changed();
  }

  private submit(): void {
    const text = this.prompt.value.trim();
    if (text === "") return;
    this.prompt.value = "";
    this.changed();
    this.actions.send(text);
  }

  private changed(): void {
    this.prompt.style.height = "auto";
    this.prompt.style.height = `${Math.min(this.prompt.scrollHeight + 2, window.innerHeight / 3)}px`;
    this.sendButton.disabled = this.prompt.value.trim() === "";
    this.actions.saveDraft(this.prompt.value);
  }
}
