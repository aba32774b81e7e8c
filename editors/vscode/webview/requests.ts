// The cards of pending requests.
import type { ServerRequest, Choice, Field, Values } from "../src/core/serverRequest";
import { button, el } from "./dom";
import { fileRow } from "./entries";

export interface RequestActions {
  answer(id: string, choice: Choice, values: Values): void;
  diff(id: string): void;
  open(href: string): void;
}

const labels: Record<Choice, string> = { accept: "Accept", acceptForSession: "Accept for Session", decline: "Decline", submit: "Answer" };

export function card(request: ServerRequest, actions: RequestActions): HTMLElement {
  const node = el("form", { class: "request", role: "group", label: `${request.title} ${request.command}`.trim() });
  node.dataset["request"] = request.id;
  node.append(el("h3", {}, request.title));
  if (request.reason) node.append(el("p", { class: "reason" }, request.reason));
  if (request.command) {
    const pre = el("pre", { class: "command", label: "The command" }, el("code", {}, request.command));
    pre.tabIndex = 0;
    node.append(pre);
  }
  if (request.details) node.append(el("pre", { class: "details" }, request.details));
  for (const file of request.files) node.append(fileRow(file));
  if (request.cwd) node.append(el("p", { class: "cwd", title: request.cwd }, "in ", el("code", {}, request.cwd)));
  if (request.url) {
    const link = el("a", { title: request.url }, request.url);
    link.href = request.url;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      actions.open(request.url);
    });
    node.append(el("p", {}, link));
  }
  const inputs = request.fields.map((field) => input(request.id, field));
  node.append(...inputs.map((input) => input.node));

  const values = (): Values => Object.fromEntries(inputs.map((input) => [input.id, input.value()]));
  const row = el("div", { class: "row" });
  for (const choice of request.choices) {
    const main = choice === "accept" || choice === "submit";
    const input = el("button", { type: main ? "submit" : "button", class: main ? "" : "secondary" }, labels[choice]);
    input.dataset["choice"] = choice;
    if (!main) input.addEventListener("click", () => actions.answer(request.id, choice, values()));
    row.append(input);
  }
  if (request.kind === "patch") row.append(button("Show Diff", "secondary", () => actions.diff(request.id)));
  node.append(row);
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    actions.answer(request.id, request.choices[0] ?? "decline", values());
  });
  return node;
}

interface Input {
  id: string;
  node: HTMLElement;
  value(): string;
}

function input(request: string, field: Field): Input {
  const { id } = field;
  const name = `${request}/${id}`;
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
