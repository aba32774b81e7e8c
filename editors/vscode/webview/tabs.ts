// The open chats as tabs, if there are several.
import * as strings from "../src/core/strings";
import type { ChatTab } from "../src/view/messages";
import { button, byId, el } from "./dom";

export interface TabActions {
  select(id: string): void;
  close(id: string): void;
  create(): void;
}

const marks: Record<ChatTab["state"], string> = { idle: "", running: "…", waiting: "!" };

export class Tabs {
  private readonly node = byId("tabs");
  private readonly list = this.node.querySelector<HTMLElement>("[role=tablist]")!;
  private readonly closeButton: HTMLButtonElement;
  private current = "";
  private drawn = "";

  constructor(private readonly actions: TabActions) {
    this.closeButton = button("×", "secondary", () => actions.close(this.current));
    this.node.append(this.closeButton, button("+", "secondary", () => actions.create(), strings.chats.new));
    this.list.addEventListener("keydown", (event) => {
      const tabs = [...this.list.querySelectorAll<HTMLElement>("[role=tab]")];
      const at = tabs.indexOf(event.target as HTMLElement);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (event.key === "Delete" && at >= 0) actions.close(tabs[at]!.dataset["chat"] ?? "");
      else if (to !== undefined) tabs[(to + tabs.length) % tabs.length]?.focus();
      else return;
      event.preventDefault();
    });
  }

  show(tabs: ChatTab[], current: string): void {
    const state = JSON.stringify([tabs, current]);
    if (state === this.drawn) return; // keep the focus
    this.drawn = state;
    this.current = current;
    const focused = (document.activeElement as HTMLElement | null)?.dataset["chat"];
    this.node.hidden = tabs.length < 2;
    this.list.replaceChildren(...tabs.map((tab) => {
      const name = strings.chats.tab(tab.title, strings.chats.state[tab.state]);
      const node = el("button", { type: "button", role: "tab", label: name, title: name }, el("span", { class: "label" }, tab.title), ...(marks[tab.state] ? [el("span", { class: "mark" }, marks[tab.state])] : []));
      node.dataset["chat"] = tab.id;
      node.dataset["state"] = tab.state;
      node.setAttribute("aria-selected", String(tab.id === current));
      node.setAttribute("aria-controls", "log");
      node.tabIndex = tab.id === current ? 0 : -1;
      node.addEventListener("click", () => this.actions.select(tab.id));
      return node;
    }));
    const close = strings.chats.close(tabs.find((tab) => tab.id === current)?.title ?? "");
    this.closeButton.setAttribute("aria-label", close);
    this.closeButton.title = close;
    if (focused !== undefined) this.list.querySelector<HTMLElement>(`[data-chat="${CSS.escape(focused)}"]`)?.focus();
  }
}
