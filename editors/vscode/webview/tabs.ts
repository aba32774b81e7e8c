// The open chats, if there are several: as tabs, or as a list where tabs would be too narrow to read.
import * as strings from "../src/core/strings/chat";
import { withoutSharedStart } from "../src/core/tabTitles";
import type { ChatTab } from "../src/view/messages";
import { button, byId, el } from "./dom";

export interface TabActions {
  select(id: string): void;
  close(id: string): void;
  create(): void;
}

const marks: Record<ChatTab["state"], string> = { idle: "", running: "◐", waiting: "!" };

/** The width in pixels below which a tab has no readable title, and the one below which it has a short title. */
const minWidth = 88;
const wideEnough = 180;

export class Tabs {
  private readonly node = byId("tabs");
  private readonly list = this.node.querySelector<HTMLElement>("[role=tablist]")!;
  private readonly menu = el("select", { label: strings.chats.list });
  private readonly waits = el("span", { class: "mark waits", role: "img", label: strings.chats.otherWaits, title: strings.chats.otherWaits }, marks.waiting);
  private readonly closeButton: HTMLButtonElement;
  private tabs: ChatTab[] = [];
  private current = "";
  private drawn = "";

  constructor(private readonly actions: TabActions) {
    this.closeButton = button("×", "secondary", () => actions.close(this.current));
    this.node.append(this.menu, this.waits, this.closeButton, button("+", "secondary", () => actions.create(), strings.chats.new));
    this.menu.addEventListener("change", () => actions.select(this.menu.value));
    this.list.addEventListener("keydown", (event) => {
      const tabs = [...this.list.querySelectorAll<HTMLElement>("[role=tab]")];
      const at = tabs.indexOf(event.target as HTMLElement);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (event.key === "Delete" && at >= 0) actions.close(tabs[at]!.dataset["chat"] ?? "");
      else if (to !== undefined) tabs[(to + tabs.length) % tabs.length]?.focus();
      else return;
      event.preventDefault();
    });
    new ResizeObserver(() => this.draw()).observe(this.node);
  }

  show(tabs: ChatTab[], current: string): void {
    this.tabs = tabs;
    this.current = current;
    this.node.hidden = tabs.length < 2;
    this.draw();
  }

  private draw(): void {
    const { tabs, current } = this;
    const width = this.widthOfTab();
    const form = width < minWidth ? "menu" : width < wideEnough ? "short" : "full";
    const state = JSON.stringify([tabs, current, form]);
    if (state === this.drawn) return; // keep the focus
    this.drawn = state;
    const focused = this.node.contains(document.activeElement) ? (document.activeElement as HTMLElement) : undefined;
    const at = focused === this.menu ? current : focused?.dataset["chat"];
    this.list.hidden = form === "menu";
    this.menu.hidden = form !== "menu";
    this.waits.hidden = form !== "menu" || tabs.every((tab) => tab.id === current || tab.state !== "waiting");
    const whole = tabs.map((tab) => tab.title);
    const titles = form === "full" ? whole : withoutSharedStart(whole);
    if (form === "menu") this.drawMenu(titles);
    else this.drawTabs(titles);
    const close = strings.chats.close(tabs.find((tab) => tab.id === current)?.title ?? "");
    this.closeButton.setAttribute("aria-label", close);
    this.closeButton.title = close;
    if (at === undefined) return;
    if (form === "menu") this.menu.focus();
    else this.list.querySelector<HTMLElement>(`[data-chat="${CSS.escape(at)}"]`)?.focus();
  }

  /** Returns the width that each tab can have, beside the buttons. */
  private widthOfTab(): number {
    const buttons = [...this.node.querySelectorAll<HTMLElement>(":scope > button")];
    const gap = 6;
    const room = buttons.reduce((left, one) => left - one.offsetWidth - gap, this.node.clientWidth - 20);
    return room / this.tabs.length;
  }

  private drawMenu(titles: string[]): void {
    this.menu.replaceChildren(...this.tabs.map((tab, i) => {
      const option = el("option", {}, [marks[tab.state], strings.chats.tab(titles[i] ?? "", strings.chats.state[tab.state])].filter(Boolean).join(" "));
      option.value = tab.id;
      return option;
    }));
    this.menu.value = this.current;
    this.menu.title = this.tabs.find((tab) => tab.id === this.current)?.title ?? "";
  }

  private drawTabs(titles: string[]): void {
    this.list.replaceChildren(...this.tabs.map((tab, i) => {
      const name = strings.chats.tab(tab.title, strings.chats.state[tab.state]);
      const mark = marks[tab.state] ? [el("span", { class: "mark" }, marks[tab.state])] : [];
      const node = el("button", { type: "button", role: "tab", label: name, title: name }, ...mark, el("span", { class: "label" }, titles[i] ?? ""));
      node.dataset["chat"] = tab.id;
      node.dataset["state"] = tab.state;
      node.setAttribute("aria-selected", String(tab.id === this.current));
      node.setAttribute("aria-controls", "log");
      node.tabIndex = tab.id === this.current ? 0 : -1;
      node.addEventListener("click", () => this.actions.select(tab.id));
      return node;
    }));
  }
}
