// The questions that wait for the person.
import type { Ask, Choice, Field, Values } from "../src/core/serverRequest";
import { button, el } from "./dom";
import { fileRow } from "./entries";

export interface Answering {
  answer(id: string, choice: Choice, values: Values): void;
  diff(id: string): void;
  open(href: string): void;
}

const labels: Record<Choice, string> = { accept: "Accept", acceptForSession: "Accept for Session", decline: "Decline", submit: "Answer" };

export function card(ask: Ask, to: Answering): HTMLElement {
  const node = el("form", { class: "ask", role: "group", label: `${ask.title} ${ask.command}`.trim() });
  node.dataset["ask"] = ask.id;
  node.append(el("h3", {}, ask.title));
  if (ask.reason) node.append(el("p", { class: "reason" }, ask.reason));
  if (ask.command) {
    const pre = el("pre", { class: "command", label: "The command" }, el("code", {}, ask.command));
    pre.tabIndex = 0;
    node.append(pre);
  }
  if (ask.details) node.append(el("pre", { class: "details" }, ask.details));
  for (const file of ask.files) node.append(fileRow(file));
  if (ask.cwd) node.append(el("p", { class: "cwd", title: ask.cwd }, "in ", el("code", {}, ask.cwd)));
  if (ask.url) {
    const link = el("a", { title: ask.url }, ask.url);
    link.href = ask.url;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      to.open(ask.url);
    });
    node.append(el("p", {}, link));
  }
  const inputs = ask.fields.map((field) => input(ask.id, field));
  node.append(...inputs.map((one) => one.node));

  const values = (): Values => Object.fromEntries(inputs.map((one) => [one.id, one.value()]));
  const row = el("div", { class: "row" });
  for (const choice of ask.choices) {
    const main = choice === "accept" || choice === "submit";
    const one = el("button", { type: main ? "submit" : "button", class: main ? "" : "secondary" }, labels[choice]);
    one.dataset["choice"] = choice;
    if (!main) one.addEventListener("click", () => to.answer(ask.id, choice, values()));
    row.append(one);
  }
  if (ask.kind === "patch") row.append(button("Show Diff", "secondary", () => to.diff(ask.id)));
  node.append(row);
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    to.answer(ask.id, ask.choices[0] ?? "decline", values());
  });
  return node;
}

interface Input {
  id: string;
  node: HTMLElement;
  value(): string;
}

function input(ask: string, field: Field): Input {
  const { id } = field;
  const name = `${ask}/${id}`;
  const legend = field.question || field.label;
  if (field.type === "choice") {
    const free = el("input", { type: "text", label: "Another answer", class: "free" });
    free.placeholder = "Another answer";
    const radios = field.options.map((option, i) => {
      const radio = el("input", { type: "radio" });
      radio.name = name;
      radio.value = option.value;
      radio.required = field.required && !field.free;
      radio.checked = i === 0 && field.free;
      return { radio, row: el("label", { class: "option" }, radio, el("span", {}, option.label, el("small", {}, option.description))) };
    });
    const node = el("fieldset", {}, el("legend", {}, legend), ...radios.map((r) => r.row));
    if (field.free) {
      free.addEventListener("input", () => {
        if (free.value) for (const { radio } of radios) radio.checked = false;
      });
      for (const { radio } of radios) radio.addEventListener("change", () => (free.value = ""));
      node.append(free);
    }
    return { id, node, value: () => free.value.trim() || (radios.find((r) => r.radio.checked)?.radio.value ?? "") };
  }
  const types = { boolean: "checkbox", number: "number", secret: "password", text: "text" } as const;
  const box = el("input", { type: types[field.type] });
  if (field.type === "number") box.step = "any";
  box.required = field.required && field.type !== "boolean";
  box.name = name;
  if (field.type === "boolean") return { id, node: el("label", { class: "option" }, box, legend), value: () => String(box.checked) };
  return { id, node: el("label", { class: "field" }, el("span", {}, legend), box), value: () => box.value };
}
