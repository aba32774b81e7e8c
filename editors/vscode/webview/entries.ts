// An element for each entry of the conversation, kept and changed rather than drawn anew.
import type { Entry, FileLine, Growing, State } from "../src/core/entry";
import { el } from "./dom";
import { Markdown } from "./markdown";
import { relative } from "../src/core/text";

let folder = "";

export function setFolder(path: string): void {
  folder = path;
}

const shown = (path: string): string => relative(folder, path);

export interface View {
  readonly node: HTMLElement;
  update(entry: Entry): void;
  grow(field: Growing, text: string): void;
  /** Called once a frame after something grew. */
  draw(): void;
}

const marks: Record<State, string> = { running: "…", done: "✓", failed: "✗", declined: "⊘" };
const words: Record<State, string> = { running: "running", done: "done", failed: "failed", declined: "declined" };

export function view(entry: Entry, follow: (href: string) => void): View {
  switch (entry.kind) {
    case "user":
      return plain(entry, "user", "You");
    case "notice":
      return plain(entry, "notice", "Notice");
    case "assistant":
      return spoken(entry, follow);
    case "reasoning":
      return thought(entry, follow);
    case "command":
    case "tool":
      return called(entry);
    case "patch":
      return patched(entry);
  }
}

function plain(first: Entry, className: string, label: string): View {
  const node = el("article", { class: className, label });
  const update = (entry: Entry): void => {
    if (entry.kind !== "user" && entry.kind !== "notice") return;
    node.textContent = entry.text;
    node.classList.toggle("pending", entry.kind === "user" && entry.pending);
    if (entry.kind === "notice") node.dataset["level"] = entry.level;
  };
  update(first);
  return { node, update, grow: () => undefined, draw: () => undefined };
}

function spoken(first: Entry, follow: (href: string) => void): View {
  const markdown = new Markdown(follow);
  const node = el("article", { class: "assistant", label: "Codex" }, markdown.node);
  const update = (entry: Entry): void => {
    if (entry.kind === "assistant") markdown.set(entry.text);
    markdown.draw();
  };
  update(first);
  return { node, update, grow: (_, text) => markdown.append(text), draw: () => markdown.draw() };
}

function thought(first: Entry, follow: (href: string) => void): View {
  const markdown = new Markdown(follow);
  const details = el("details", {}, el("summary", {}, "Reasoning"), markdown.node);
  const node = el("article", { class: "reasoning", label: "Reasoning" }, details);
  const update = (entry: Entry): void => {
    if (entry.kind === "reasoning") {
      node.hidden = entry.text.trim() === "";
      markdown.set(entry.text);
    }
    markdown.draw();
  };
  update(first);
  return {
    node,
    update,
    grow: (_, text) => {
      node.hidden = false;
      markdown.append(text);
    },
    draw: () => markdown.draw(),
  };
}

function called(first: Entry): View {
  const mark = el("span", { class: "mark", role: "img" });
  const name = el("code", { class: "name" });
  const note = el("span", { class: "note" });
  const input = el("pre", { class: "input" });
  const output = el("pre", { class: "output" });
  output.tabIndex = 0;
  const details = el("details", {}, el("summary", {}, mark, name, note), input, output);
  const node = el("article", { class: "call" }, details);
  let shown = "";
  const out = (text: string): void => {
    if (text === shown) return;
    if (text.startsWith(shown)) output.append(text.slice(shown.length));
    else output.textContent = text;
    shown = text;
    output.hidden = text === "";
  };
  const update = (entry: Entry): void => {
    if (entry.kind !== "command" && entry.kind !== "tool") return;
    const what = entry.kind === "command" ? entry.command : entry.name;
    name.textContent = what;
    name.title = what;
    mark.textContent = marks[entry.state];
    mark.setAttribute("aria-label", words[entry.state]);
    node.dataset["state"] = entry.state;
    node.setAttribute("aria-label", `${entry.kind === "command" ? "Command" : "Tool"} ${what}, ${words[entry.state]}`);
    note.textContent = entry.kind === "command" && entry.exitCode ? `exit ${entry.exitCode}` : entry.state === "declined" ? "declined" : "";
    input.textContent = entry.kind === "tool" ? entry.input : entry.command.includes("\n") || entry.command.length > 60 ? entry.command : "";
    input.hidden = input.textContent === "";
    out(entry.output);
    output.hidden = entry.output === "";
  };
  update(first);
  return { node, update, grow: (_, text) => out(shown + text), draw: () => undefined };
}

function patched(first: Entry): View {
  const node = el("article", { class: "patch" });
  const update = (entry: Entry): void => {
    if (entry.kind !== "patch") return;
    node.dataset["state"] = entry.state;
    node.setAttribute("aria-label", `Patch, ${words[entry.state]}`);
    const mark = el("span", { class: "mark", role: "img", label: words[entry.state] }, marks[entry.state]);
    const note = entry.state === "declined" ? "declined" : "";
    node.replaceChildren(...entry.files.map((file, i) => fileRow(file, i === 0 ? mark : "", i === 0 ? note : "")));
  };
  update(first);
  return { node, update, grow: () => undefined, draw: () => undefined };
}

const verbs: Record<FileLine["kind"], string> = { add: "new", delete: "deleted", update: "" };

export function fileRow(file: FileLine, mark: Node | string = "", note = ""): HTMLElement {
  return el(
    "div",
    { class: "file", title: file.path },
    mark,
    el("code", { class: "name" }, shown(file.path)),
    el("span", { class: "added", label: `${file.added} lines added` }, `+${file.added}`),
    el("span", { class: "removed", label: `${file.removed} lines removed` }, `−${file.removed}`),
    el("span", { class: "note" }, note || verbs[file.kind]),
  );
}
