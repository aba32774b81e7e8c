// The cards of pending requests.
import { fieldError } from "../src/core/fields";
import type { Choice } from "../src/core/choice";
import type { Field, Values } from "../src/core/serverRequest";
import type { ShownRequest } from "../src/view/messages";
import * as chatStrings from "../src/core/strings/chat";
import * as requestStrings from "../src/core/strings/requests";
import { button, el } from "./dom";
import { fileList } from "./fileGroups";

export interface RequestActions {
  answer(id: string, choice: Choice, values: Values): void;
  diff(id: string): void;
  edit(id: string): void;
  discardEdit(id: string): void;
  open(href: string): void;
}

/** Names the chat of a request that is not of the shown chat. */
export function nameChat(card: HTMLElement, chat: string): void {
  const node = card.querySelector<HTMLElement>(".chat-name");
  if (!node) return;
  node.textContent = chat === "" ? "" : chatStrings.chats.inChat(chat);
  node.hidden = chat === "";
}

/** Shows the buttons for a patch that the user may edit, or edits. */
export function showEdit(card: HTMLElement, { edit, keptMs }: ShownRequest): void {
  const isOpen = edit === "open";
  for (const node of card.querySelectorAll<HTMLElement>("[data-choice], [data-edit]")) {
    const { choice, edit: action } = node.dataset;
    if (choice === "accept") node.textContent = isOpen ? requestStrings.edit.accept : requestStrings.choice(choice, keptMs);
    if (choice === "acceptForSession") node.hidden = isOpen;
    if (action === "start") node.textContent = isOpen ? requestStrings.edit.show : requestStrings.edit.start;
    if (action !== undefined) node.hidden = edit === "none" || (action === "discard" && !isOpen);
  }
}

export function card(request: ShownRequest, actions: RequestActions): HTMLElement {
  const escalates = request.leaves !== "";
  const name = `${escalates ? `${requestStrings.request.leaves}. ` : ""}${request.title} ${request.command}`.trim();
  const node = el("form", { class: "request", role: "group", label: name });
  node.noValidate = true; // the card checks its fields, and shows errors beside them
  node.dataset["request"] = request.id;
  node.append(el("p", { class: "chat-name" }));
  nameChat(node, request.chat);
  if (escalates) {
    node.classList.add("escalation");
    node.append(el("h3", {}, requestStrings.request.leaves), el("p", { class: "leaves" }, requestStrings.request.whatLeaves(request.leaves)), el("p", {}, request.title));
  } else {
    node.append(el("h3", {}, request.title));
  }
  if (request.reason) node.append(el("p", { class: "reason" }, request.reason));
  if (request.command) {
    const pre = el("pre", { class: "command", label: requestStrings.request.theCommand }, el("code", {}, ...commandLines(request.command)));
    pre.tabIndex = 0;
    node.append(pre);
  }
  if (request.details) node.append(el("pre", { class: "details" }, request.details));
  if (request.files.length > 0) node.append(fileList(request.files));
  if (request.cwd) node.append(el("p", { class: "cwd", title: request.cwd }, requestStrings.request.inFolder, el("code", {}, request.cwd)));
  if (request.url) {
    const link = el("a", { title: request.url }, request.url);
    link.href = request.url;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      actions.open(request.url);
    });
    node.append(el("p", {}, link));
  }
  if (request.said) node.append(quotation(request.said));
  const inputs = request.fields.map((field) => input(request.id, field));
  node.append(...inputs.map((input) => input.node));

  const answer = (choice: Choice): void => {
    const values: Values = Object.fromEntries(inputs.map((input) => [input.field.id, input.value()]));
    if (choice !== "decline") {
      const wrong = inputs.filter((input) => input.check(values[input.field.id] ?? ""));
      wrong[0]?.focus();
      if (wrong.length > 0) return;
    }
    actions.answer(request.id, choice, values);
  };
  const row = el("div", { class: "row" });
  for (const choice of request.choices) {
    const main = choice === "accept" || choice === "submit";
    const input = el("button", { type: main ? "submit" : "button", class: main ? "" : "secondary" }, requestStrings.choice(choice, request.keptMs));
    input.dataset["choice"] = choice;
    if (choice === "acceptForSession") input.title = requestStrings.request.keptSession;
    if (choice === "acceptAlways") input.title = requestStrings.request.keptAlways;
    if (!main) input.addEventListener("click", () => answer(choice));
    row.append(input);
  }
  if (request.kind === "patch") {
    const [edit, discard] = [button(requestStrings.edit.start, "secondary", () => actions.edit(request.id)), button(requestStrings.edit.discard, "secondary", () => actions.discardEdit(request.id))];
    [edit.dataset["edit"], discard.dataset["edit"]] = ["start", "discard"];
    row.append(button(requestStrings.request.showDiff, "secondary", () => actions.diff(request.id)), edit, discard);
  }
  node.append(row);
  if (request.whyNoEdit) node.append(el("p", { class: "note" }, request.whyNoEdit));
  showEdit(node, request);
  if (request.expiresAt !== null) node.append(countdown(node, request.expiresAt));
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    answer(request.choices[0] ?? "decline");
  });
  return node;
}

/** Returns the lines of a command. The style numbers several of them: a long line that is wrapped must not look like two. */
function commandLines(command: string): (Node | string)[] {
  const lines = command.split("\n");
  return lines.length === 1 ? lines : lines.map((line) => el("span", { class: "line" }, `${line}\n`));
}

/** Shows words of the model as what they are: a quotation, which is not checked. */
function quotation(words: string): HTMLElement {
  const quote = el("blockquote", {}, words);
  quote.tabIndex = 0; // long words scroll
  return el("figure", { class: "said" }, el("figcaption", {}, requestStrings.request.said), quote);
}

/** Shows the time until the bridge declines. A screen reader hears it with the request, not each second. */
function countdown(card: HTMLElement, expiresAt: number): HTMLElement {
  const node = el("p", { class: "countdown", role: "timer" });
  node.setAttribute("aria-live", "off");
  let timer: ReturnType<typeof setInterval> | undefined;
  const draw = (): void => {
    const left = expiresAt - Date.now();
    node.textContent = requestStrings.request.expires(left);
    node.classList.toggle("soon", left < 15_000);
    if (timer !== undefined && !card.isConnected) clearInterval(timer);
  };
  draw();
  timer = setInterval(draw, 1000);
  return node;
}

interface Input {
  field: Field;
  node: HTMLElement;
  value(): string;
  /** Shows or removes the error of a value. Returns whether there is one. */
  check(value: string): boolean;
  focus(): void;
}

function input(request: string, field: Field): Input {
  const name = `${request}/${field.id}`;
  const error = el("p", { class: "error", role: "alert", hidden: true });
  error.id = `${name}/error`;
  const mark = (control: HTMLElement): ((value: string) => boolean) => (value) => {
    const text = fieldError(field, value);
    error.textContent = text;
    error.hidden = text === "";
    control.setAttribute("aria-invalid", String(text !== ""));
    control.setAttribute("aria-describedby", error.id);
    return text !== "";
  };
  const legend = (): Node[] => [document.createTextNode(field.question || field.label), ...(field.required ? [el("span", { class: "required" }, ` (${requestStrings.request.required})`)] : [])];
  if (field.type === "choice") return choice(name, field, legend(), error, mark);
  const types = { boolean: "checkbox", number: "number", integer: "number", secret: "password", text: "text" } as const;
  const byFormat = { "": "text", email: "email", uri: "url", date: "date", "date-time": "text" } as const;
  const box = el("input", { type: field.type === "text" ? byFormat[field.format] : types[field.type] });
  if (field.type === "number") box.step = "any";
  box.required = field.required && field.type !== "boolean";
  box.name = name;
  if (field.type === "boolean") {
    box.checked = field.initial === "true";
    return { field, node: el("label", { class: "option" }, box, el("span", {}, field.question || field.label)), value: () => String(box.checked), check: () => false, focus: () => box.focus() };
  }
  box.value = field.initial;
  // A browser has no value for a text that is no number.
  const value = (): string => (box.validity.badInput ? "?" : box.value);
  const check = mark(box);
  box.addEventListener("input", () => !error.hidden && check(value()));
  return { field, node: el("label", { class: "field" }, el("span", {}, ...legend()), box, error), value, check, focus: () => box.focus() };
}

function choice(name: string, field: Field, legend: Node[], error: HTMLElement, mark: (control: HTMLElement) => (value: string) => boolean): Input {
  const free = el("input", { type: "text", label: requestStrings.request.anotherAnswer, class: "free" });
  free.placeholder = requestStrings.request.anotherAnswer;
  const radios = field.options.map((option) => {
    const radio = el("input", { type: "radio" });
    radio.name = name;
    radio.value = option.value;
    radio.checked = option.value === field.initial;
    return { radio, row: el("label", { class: "option" }, radio, el("span", {}, option.label, el("small", {}, option.description))) };
  });
  const node = el("fieldset", {}, el("legend", {}, ...legend), ...radios.map((r) => r.row));
  if (field.free) {
    free.addEventListener("input", () => {
      if (free.value) for (const { radio } of radios) radio.checked = false;
    });
    for (const { radio } of radios) radio.addEventListener("change", () => (free.value = ""));
    node.append(free);
  }
  node.append(error);
  const value = (): string => free.value.trim() || (radios.find((r) => r.radio.checked)?.radio.value ?? "");
  const check = mark(node);
  node.addEventListener("change", () => !error.hidden && check(value()));
  return { field, node, value, check, focus: () => (radios[0]?.radio ?? free).focus() };
}
