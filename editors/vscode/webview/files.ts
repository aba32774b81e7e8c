// Names of files in answers and outputs. The extension says which of them exist; only these become links.
import { findFiles, type Candidate } from "../src/core/fileLinks";
import * as strings from "../src/core/strings/chat";
import { maxFiles } from "../src/view/messages";
import { el } from "./dom";

export interface FileActions {
  check(paths: string[]): void;
  open(path: string, line: number, column: number): void;
}

const known = new Map<string, boolean>();
let asked = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;
let actions: FileActions = { check: () => undefined, open: () => undefined };

export function setFileActions(use: FileActions): void {
  actions = use;
}

/** Asks again about the names that did not exist: a turn may have made the files. */
export function checkAgain(): void {
  for (const [path, exists] of known) if (!exists) known.delete(path);
  for (const node of document.querySelectorAll<HTMLElement>(".path[data-path]")) ask(node.dataset["path"] ?? "");
}

/** Takes the names that exist among those that were asked about. */
export function filesChecked(paths: string[]): void {
  const exist = new Set(paths);
  for (const path of asked) known.set(path, exist.has(path));
  asked = new Set();
  for (const node of document.querySelectorAll<HTMLElement>(".path[data-path]")) {
    const candidate = candidates.get(node);
    if (candidate && known.get(candidate.path)) node.replaceWith(link(candidate));
  }
}

const candidates = new WeakMap<HTMLElement, Candidate>();

/** Returns a text as nodes, with links for files that exist. */
export function withFiles(text: string): Node[] {
  const nodes: Node[] = [];
  let end = 0;
  for (const one of findFiles(text)) {
    if (one.at > end) nodes.push(document.createTextNode(text.slice(end, one.at)));
    nodes.push(known.get(one.path) ? link(one) : candidate(one));
    end = one.at + one.text.length;
  }
  if (end < text.length) nodes.push(document.createTextNode(text.slice(end)));
  return nodes;
}

function candidate(one: Candidate): HTMLElement {
  const node = el("span", { class: "path" }, one.text);
  node.dataset["path"] = one.path;
  candidates.set(node, one);
  ask(one.path);
  return node;
}

/** Asks about a name, with one question for all names of a draw. */
function ask(path: string): void {
  if (known.has(path) || asked.size >= maxFiles) return;
  asked.add(path);
  timer ??= setTimeout(() => {
    timer = undefined;
    actions.check([...asked]);
  }, 50);
}

function link(one: Candidate): HTMLElement {
  const label = strings.link.open(one.path, one.line);
  const node = el("a", { class: "file-link", title: label }, one.text);
  node.href = "#";
  node.addEventListener("click", (event) => {
    event.preventDefault();
    event.stopPropagation();
    actions.open(one.path, one.line, one.column);
  });
  return node;
}
