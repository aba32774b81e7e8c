// A dialog with one list for each setting. A choice that the policy does not allow can be reached, to read its reason,
// but not chosen.
import type { Group, Option, Setting } from "../src/core/choices";
import * as strings from "../src/core/strings/chat";
import type { PickerKind } from "../src/view/messages";
import { button, byId, el } from "./dom";

export interface PickerActions {
  choose(kind: PickerKind, setting: Setting, value: string): void;
  announce(text: string): void;
  closed(): void;
}

export class Picker {
  private readonly node = byId("picker");
  /** The kind of questions that the user has changed last; see granular.ts. */
  private activeKind = 0;

  constructor(private readonly actions: PickerActions) {
    this.node.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      this.close();
      actions.closed();
    });
  }

  /** Shows the lists. The list that has the focus keeps it. */
  show(kind: PickerKind, groups: Group[]): void {
    const before = document.activeElement?.closest<HTMLElement>("#picker [role=listbox]")?.dataset["setting"];
    const title = strings.picker.titles[kind];
    this.node.setAttribute("aria-label", title);
    const done = button(strings.picker.done, "secondary", () => {
      this.close();
      this.actions.closed();
    });
    this.node.replaceChildren(
      el("h3", {}, title), ...groups.flatMap((group) => this.list(kind, group)),
      el("div", { class: "row" }, el("span", { class: "note" }, strings.picker.applies), done),
    );
    this.node.hidden = false;
    const focus = this.node.querySelector<HTMLElement>(`[data-setting="${before ?? groups[0]?.setting ?? ""}"]`);
    (focus ?? done).focus();
    if (before === undefined) this.node.scrollTop = 0; // the title, too
  }

  close(): void {
    this.node.hidden = true;
    this.node.replaceChildren();
  }

  private list(kind: PickerKind, group: Group): HTMLElement[] {
    const heading = el("h4", {}, group.label);
    heading.id = `picker-${group.setting}`;
    const list = el("ul", { role: "listbox" });
    list.setAttribute("aria-labelledby", heading.id);
    list.dataset["setting"] = group.setting;
    list.tabIndex = 0;
    const isMultiple = group.setting === "granular";
    if (isMultiple) list.setAttribute("aria-multiselectable", "true");
    const nodes = group.options.map((option, i) => optionNode(group.setting, option, i));
    list.append(...nodes);
    let active = isMultiple ? this.activeKind : Math.max(0, group.options.findIndex((option) => option.selected));
    const mark = (): void => {
      nodes.forEach((node, i) => node.classList.toggle("active", i === active));
      list.setAttribute("aria-activedescendant", nodes[active]?.id ?? "");
      nodes[active]?.scrollIntoView({ block: "nearest" });
    };
    const choose = (i: number): void => {
      const option = group.options[i];
      if (!option) return;
      active = i;
      if (isMultiple) this.activeKind = i; // the list is shown again
      mark();
      this.actions.announce(option.why || strings.picker.chosen(group.label, isMultiple && option.selected ? strings.picker.off(option.label) : option.label));
      if (option.why === "") this.actions.choose(kind, group.setting, option.value);
    };
    nodes.forEach((node, i) => node.addEventListener("click", () => choose(i)));
    list.addEventListener("keydown", (event) => {
      const to = { ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: nodes.length - 1 }[event.key];
      if (to !== undefined) active = Math.min(nodes.length - 1, Math.max(0, to));
      else if (event.key === "Enter" || event.key === " ") choose(active);
      else return;
      event.preventDefault();
      mark();
    });
    mark();
    return [heading, list];
  }
}

function optionNode(setting: Setting, option: Option, index: number): HTMLElement {
  const node = el("li", { role: "option" }, el("span", { class: "label" }, option.label), el("span", { class: "detail" }, option.why || option.description));
  node.id = `picker-${setting}-${index}`;
  node.dataset["value"] = option.value;
  node.setAttribute("aria-selected", String(option.selected));
  node.setAttribute("aria-disabled", String(option.why !== ""));
  return node;
}
