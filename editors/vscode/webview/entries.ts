// Creates an element for each entry of the conversation, and updates it in place.
import type { Entry, FileChange, DeltaField, State } from "../src/core/entry";
import { el } from "./dom";
import { Markdown } from "./markdown";
import { relativePath } from "../src/core/text";

// The folder of the conversation. Paths within it are shown relative to it; other paths are shown in full.
let folder = "";

export function setFolder(path: string): void {
  folder = path;
}

const displayPath = (path: string): string => relativePath(folder, path);

export interface View {
  readonly node: HTMLElement;
  update(entry: Entry): void;
  append(field: DeltaField, text: string): void;
  /** Draws appended text. Called at most once per frame. */
  draw(): void;
}

const marks: Record<State, string> = { running: "…", done: "✓", failed: "✗", declined: "⊘" };
const stateLabels: Record<State, string> = { running: "running", done: "done", failed: "failed", declined: "declined" };

export function view(entry: Entry, openLink: (href: string) => void): View {
  switch (entry.kind) {
    case "user":
      return plain(entry, "user", "You");
    case "notice":
      return plain(entry, "notice", "Notice");
    case "assistant":
      return assistant(entry, openLink);
    case "reasoning":
      return reasoning(entry, openLink);
    case "command":
    case "tool":
      return call(entry);
    case "patch":
      return patch(entry);
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
  return { node, update, append: () => undefined, draw: () => undefined };
}

function assistant(first: Entry, openLink: (href: string) => void): View {
  const markdown = new Markdown(openLink);
  const node = el("article", { class: "assistant", label: "Codex" }, markdown.node);
  const update = (entry: Entry): void => {
    if (entry.kind === "assistant") markdown.set(entry.text);
    markdown.draw();
  };
  update(first);
  return { node, update, append: (_, text) => markdown.append(text), draw: () => markdown.draw() };
}

function reasoning(first: Entry, openLink: (href: string) => void): View {
  const markdown = new Markdown(openLink);
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
    append: (_, text) => {
      node.hidden = false;
      markdown.append(text);
    },
    draw: () => markdown.draw(),
  };
}

function call(first: Entry): View {
  const mark = el("span", { class: "mark", role: "img" });
  const name = el("code", { class: "name" });
  const note = el("span", { class: "note" });
  const input = el("pre", { class: "input" });
  const output = el("pre", { class: "output" });
  output.tabIndex = 0;
  const details = el("details", {}, el("summary", {}, mark, name, note), input, output);
  const node = el("article", { class: "call" }, details);
  let drawnText = "";
  const setOutput = (text: string): void => {
    if (text === drawnText) return;
    if (text.startsWith(drawnText)) output.append(text.slice(drawnText.length));
    else output.textContent = text;
    drawnText = text;
    output.hidden = text === "";
  };
  const update = (entry: Entry): void => {
    if (entry.kind !== "command" && entry.kind !== "tool") return;
    const what = entry.kind === "command" ? entry.command : entry.name;
    name.textContent = what;
    name.title = what;
    mark.textContent = marks[entry.state];
    mark.setAttribute("aria-label", stateLabels[entry.state]);
    node.dataset["state"] = entry.state;
    node.setAttribute("aria-label", `${entry.kind === "command" ? "Command" : "Tool"} ${what}, ${stateLabels[entry.state]}`);
    note.textContent = entry.kind === "command" && entry.exitCode ? `exit ${entry.exitCode}` : entry.state === "declined" ? "declined" : "";
    input.textContent = entry.kind === "tool" ? entry.input : entry.command.includes("\n") || entry.command.length > 60 ? entry.command : "";
    input.hidden = input.textContent === "";
    setOutput(entry.output);
    output.hidden = entry.output === "";
  };
  update(first);
  return { node, update, append: (_, text) => setOutput(drawnText + text), draw: () => undefined };
}

function patch(first: Entry): View {
  const node = el("article", { class: "patch" });
  const update = (entry: Entry): void => {
    if (entry.kind !== "patch") return;
    node.dataset["state"] = entry.state;
    node.setAttribute("aria-label", `Patch, ${stateLabels[entry.state]}`);
    const mark = el("span", { class: "mark", role: "img", label: stateLabels[entry.state] }, marks[entry.state]);
    const note = entry.state === "declined" ? "declined" : "";
    node.replaceChildren(...entry.files.map((file, i) => fileRow(file, i === 0 ? mark : "", i === 0 ? note : "")));
  };
  update(first);
  return { node, update, append: () => undefined, draw: () => undefined };
}

const verbs: Record<FileChange["kind"], string> = { add: "new", delete: "deleted", update: "" };

export function fileRow(file: FileChange, mark: Node | string = "", note = ""): HTMLElement {
  return el(
    "div",
    { class: "file", title: file.path },
    mark,
    el("code", { class: "name" }, displayPath(file.path)),
    el("span", { class: "added", label: `${file.added} lines added` }, `+${file.added}`),
    el("span", { class: "removed", label: `${file.removed} lines removed` }, `−${file.removed}`),
    el("span", { class: "note" }, note || verbs[file.kind]),
  );
}
