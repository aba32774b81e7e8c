// The message that the user is writing. The extension keeps the draft: VS Code destroys a hidden
// webview, and saves its state with a delay.
import { parseSlash, type SlashCommand } from "../src/core/slash";
import * as strings from "../src/core/strings/chat";
import { Completion } from "./completion";
import { button, byId } from "./dom";

export interface ComposerActions {
  send(text: string): void;
  command(name: SlashCommand, rest: string): void;
  stop(): void;
  saveDraft(draft: string): void;
  suggest(query: string, number: number): void;
  announce(text: string): void;
}

export class Composer {
  readonly completion: Completion;
  private readonly form = byId<HTMLFormElement>("composer");
  private readonly prompt = byId<HTMLTextAreaElement>("prompt");
  private readonly hint = byId("hint");
  private readonly problem = byId("problem");
  private readonly sendButton = byId<HTMLButtonElement>("send");
  private readonly stopButton = byId<HTMLButtonElement>("stop");
  private running = false;
  private hasContext = false;

  constructor(private readonly actions: ComposerActions) {
    this.completion = new Completion(this.prompt, byId("suggestions"), {
      suggest: (query, number) => actions.suggest(query, number),
      run: (text) => {
        this.prompt.value = text;
        this.submit();
      },
      changed: () => this.changed(),
      announce: (text) => actions.announce(text),
    });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.prompt.addEventListener("keydown", (event) => {
      if (event.isComposing || this.completion.key(event)) return; // Enter confirms an input method
      if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        this.submit();
      } else if (event.key === "Escape" && this.running && this.prompt.value === "") {
        event.preventDefault();
        actions.stop();
      }
    });
    this.prompt.addEventListener("input", () => {
      this.showProblem("");
      this.changed();
      this.completion.update();
    });
    this.stopButton.addEventListener("click", () => actions.stop());
    this.changed();
    this.setRunning(false);
  }

  get draft(): string {
    return this.prompt.value;
  }

  /** Shows the draft of another chat. */
  set draft(text: string) {
    if (text === this.prompt.value) return;
    this.prompt.value = text;
    this.completion.close();
    this.showProblem("");
    this.changed();
  }

  setRunning(running: boolean): void {
    this.running = running;
    this.stopButton.hidden = !running;
    this.sendButton.textContent = running ? strings.chat.steerButton : strings.chat.sendButton;
    this.prompt.placeholder = running ? strings.chat.steer : strings.chat.ask;
    this.hint.textContent = running ? strings.chat.stops : strings.chat.sends;
  }

  /** Records whether the message has context, which can be sent without a text. */
  setContext(hasContext: boolean): void {
    this.hasContext = hasContext;
    this.changed();
  }

  block(blocked: boolean): void {
    this.form.hidden = blocked;
  }

  focus(): void {
    this.prompt.focus();
  }

  /** Restores a message that could not be sent, unless there is a new draft. */
  restore(text: string): void {
    if (this.prompt.value !== "") return;
    this.prompt.value = text;
    this.changed();
  }

  /** Shows why something did not work, beside the message; "" removes it. */
  showProblem(text: string, ...more: Node[]): void {
    this.problem.replaceChildren(text, ...more);
    this.problem.hidden = text === "";
  }

  private submit(): void {
    const text = this.prompt.value.trim();
    if (text === "" && !this.hasContext) return;
    const slash = parseSlash(text);
    if (slash.type === "problem") {
      this.showProblem(slash.why, button(strings.slash.asText, "secondary", () => this.send(text)));
    } else if (slash.type === "command") {
      this.clear();
      this.actions.command(slash.name, slash.rest);
    } else {
      this.send(text);
    }
  }

  private send(text: string): void {
    this.clear();
    this.actions.send(text);
    this.focus();
  }

  private clear(): void {
    this.prompt.value = "";
    this.completion.close();
    this.showProblem("");
    this.changed();
  }

  private changed(): void {
    this.prompt.style.height = "auto";
    this.prompt.style.height = `${Math.min(this.prompt.scrollHeight + 2, window.innerHeight / 3)}px`;
    this.sendButton.disabled = this.prompt.value.trim() === "" && !this.hasContext;
    this.actions.saveDraft(this.prompt.value);
  }
}
