// The context of the message, above it: a list of chips with a button each to remove it. Also takes pasted and dropped images.
import type { Chip } from "../src/core/attachments";
import { maxImage } from "../src/core/image";
import * as strings from "../src/core/strings/chat";
import { maxFiles } from "../src/view/messages";
import { byId, el } from "./dom";

const uriList = "text/uri-list";

export interface ChipActions {
  remove(id: string): void;
  image(name: string, data: Uint8Array): void;
  /** Adds files that were dropped from the explorer of VS Code. */
  files(uris: string[]): void;
  problem(text: string): void;
  focusMessage(): void;
}

export class Chips {
  private readonly list = byId("chips");

  constructor(private readonly actions: ChipActions) {
    const prompt = byId<HTMLTextAreaElement>("prompt");
    prompt.addEventListener("paste", (event) => {
      const files = filesOf(event.clipboardData);
      if (files.length === 0) return;
      event.preventDefault();
      void this.add(files);
    });
    const form = byId("composer");
    const take = (event: DragEvent): boolean => event.dataTransfer?.types.some((type) => type === "Files" || type === uriList) ?? false;
    form.addEventListener("dragover", (event) => {
      if (!take(event)) return;
      event.preventDefault();
      form.classList.add("drop");
    });
    form.addEventListener("dragleave", () => form.classList.remove("drop"));
    form.addEventListener("drop", (event) => {
      form.classList.remove("drop");
      if (!take(event)) return;
      event.preventDefault();
      const files = filesOf(event.dataTransfer);
      const uris = (event.dataTransfer?.getData(uriList) ?? "").split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#"));
      if (files.length > 0) void this.add(files);
      else if (uris.length > 0) this.actions.files(uris.slice(0, maxFiles));
    });
  }

  show(chips: Chip[]): void {
    const focused = [...this.list.querySelectorAll("button")].indexOf(document.activeElement as HTMLButtonElement);
    this.list.hidden = chips.length === 0;
    this.list.replaceChildren(...chips.map((chip) => {
      const close = el("button", { type: "button", class: "remove", label: strings.context.remove(chip.label), title: strings.context.remove(chip.label) }, "×");
      close.addEventListener("click", () => this.actions.remove(chip.id));
      close.addEventListener("keydown", (event) => {
        if (event.key !== "Delete" && event.key !== "Backspace") return;
        event.preventDefault();
        this.actions.remove(chip.id);
      });
      const node = el("li", { class: "chip", title: chip.label }, el("span", { class: "label" }, chip.label), close);
      node.dataset["kind"] = chip.kind;
      return node;
    }));
    if (focused < 0) return;
    // After a removal the focus goes to the next chip, else to the message.
    const buttons = this.list.querySelectorAll("button");
    const next = buttons[Math.min(focused, buttons.length - 1)];
    if (next) next.focus();
    else this.actions.focusMessage();
  }

  private async add(files: File[]): Promise<void> {
    for (const file of files) {
      const name = file.name || strings.image.pasted;
      // The extension checks the content; a file that is too large is not even read.
      if (file.size > maxImage) {
        this.actions.problem(strings.image.tooLarge(name, file.size, maxImage));
        continue;
      }
      try {
        this.actions.image(name, new Uint8Array(await file.arrayBuffer()));
      } catch {
        this.actions.problem(strings.image.unreadable(name));
      }
    }
  }
}

const filesOf = (data: DataTransfer | null): File[] => [...(data?.files ?? [])];
