// Creates an element for each entry of the conversation, and updates it in place.
import type { Entry, NoticeAction, State } from "../src/core/entry";
import type { Decision } from "../src/core/policy";
import { maxFlat } from "../src/core/fileGroups";
import * as bridgeStrings from "../src/core/strings/bridge";
import * as changeStrings from "../src/core/strings/changes";
import * as chatStrings from "../src/core/strings/chat";
import * as requestStrings from "../src/core/strings/requests";
import { changes } from "./changes";
import { button, el } from "./dom";
import { FileGroups } from "./fileGroups";
import { fileRow } from "./fileRow";
import { withFiles } from "./files";
import { keepFocus } from "./focus";
import { Markdown } from "./markdown";
import type { EntryActions, View } from "./view";

const marks: Record<State, string> = { running: "…", done: "✓", failed: "✗", declined: "⊘" };
const stateLabels: Record<State, string> = chatStrings.chat.states;

export function view(entry: Entry, actions: EntryActions): View {
  switch (entry.kind) {
    case "user":
      return user(entry);
    case "notice":
      return notice(entry, actions);
    case "policy":
      return policy(entry, actions);
    case "assistant":
      return assistant(entry, actions.openLink);
    case "reasoning":
      return reasoning(entry, actions.openLink);
    case "command":
    case "tool":
      return call(entry);
    case "patch":
      return patch(entry);
    case "changes":
      return changes(entry, actions);
  }
}

/** The maximal length of the user's message that is drawn without a question, and the length of its first part. */
const maxMessage = 4000;
const firstPart = 2000;

const fixed = (node: HTMLElement, update: (entry: Entry) => void): View => ({ node, update, append: () => undefined, draw: () => undefined });

function user(first: Entry): View {
  const node = el("article", { class: "user", label: chatStrings.chat.you });
  let isWhole = false;
  const text = (entry: Entry & { kind: "user" }): (Node | string)[] => {
    if (isWhole || entry.text.length <= maxMessage) return entry.text ? [entry.text] : [];
    const more = button(chatStrings.chat.showRest, "secondary", () => {
      isWhole = true;
      update(entry);
      node.tabIndex = -1;
      node.focus({ preventScroll: true }); // the button is gone
    });
    return [entry.text.slice(0, firstPart), "…", el("div", { class: "row" }, more)];
  };
  const update = (entry: Entry): void => {
    if (entry.kind !== "user") return;
    const sent = entry.attachments.map(({ label, text }) =>
      text === "" ? el("span", { class: "sent" }, label) : el("details", { class: "sent" }, el("summary", {}, label), el("pre", {}, text)));
    const list = sent.length > 0 ? [el("div", { class: "attachments", role: "group", label: chatStrings.chat.sentWith }, ...sent)] : [];
    node.replaceChildren(...text(entry), ...list);
    node.classList.toggle("pending", entry.pending);
  };
  update(first);
  return fixed(node, update);
}

function notice(first: Entry, actions: EntryActions): View {
  const node = el("article", { class: "notice", label: chatStrings.chat.notice });
  const update = (entry: Entry): void => {
    if (entry.kind !== "notice") return;
    node.dataset["level"] = entry.level;
    const buttons = (entry.actions ?? []).map((action, i) => button(noticeLabel(action), "secondary", () => actions.notice(entry.id, i)));
    node.replaceChildren(entry.text, ...(buttons.length > 0 ? [el("div", { class: "row" }, ...buttons)] : []));
  };
  update(first);
  return fixed(node, update);
}

function noticeLabel(action: NoticeAction): string {
  switch (action) {
    case "settings":
      return bridgeStrings.program.settings;
    case "log":
      return bridgeStrings.program.log;
    case "restart":
      return bridgeStrings.program.restart;
    default:
      return requestStrings.policy.open;
  }
}

function policy(first: Entry, actions: EntryActions): View {
  const node = el("article", { class: "policy" });
  const update = (entry: Entry): void => {
    if (entry.kind !== "policy") return;
    const title = requestStrings.policy[entry.card];
    node.dataset["card"] = entry.card;
    node.setAttribute("aria-label", `${title}: ${entry.decisions.map((one) => one.what).join("; ")}`);
    node.replaceChildren(el("h3", {}, title), ...entry.decisions.flatMap((one, i) => decision(entry.id, one, i, actions)));
  };
  update(first);
  return fixed(node, update);
}

function decision(entry: string, one: Decision, index: number, actions: EntryActions): HTMLElement[] {
  const { what, why, rule, where, open, explain } = requestStrings.policy;
  const rows = [[what, one.what], [why, one.why], [rule, one.rule], [where, one.where]].filter(([, text]) => text !== "");
  const list = el("dl", {}, ...rows.flatMap(([name = "", text = ""]) => [el("dt", {}, name), el("dd", {}, name === what ? el("code", {}, text) : text)]));
  const more = el("div", { class: "explanation", hidden: true }, ...one.explanation.map((line) => el("p", {}, line)));
  more.id = `${entry}-${index}`;
  const toggle = button(explain, "secondary", () => {
    more.hidden = !more.hidden;
    toggle.setAttribute("aria-expanded", String(!more.hidden));
  });
  toggle.setAttribute("aria-expanded", "false");
  toggle.setAttribute("aria-controls", more.id);
  const openButton = one.canOpen ? [button(open, "secondary", () => actions.openPolicy(entry, index), `${open}: ${one.where}`)] : [];
  return [list, el("div", { class: "row" }, ...openButton, toggle), more];
}

function assistant(first: Entry, openLink: (href: string) => void): View {
  const markdown = new Markdown(openLink);
  const node = el("article", { class: "assistant", label: chatStrings.chat.codex }, markdown.node);
  const update = (entry: Entry): void => {
    if (entry.kind === "assistant") {
      node.hidden = entry.text === ""; // Codex starts one for a review, which it never fills
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

function reasoning(first: Entry, openLink: (href: string) => void): View {
  const markdown = new Markdown(openLink);
  const details = el("details", {}, el("summary", {}, chatStrings.chat.reasoning), markdown.node);
  const node = el("article", { class: "reasoning", label: chatStrings.chat.reasoning }, details);
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
  let isFinal = false;
  const setOutput = (text: string, final = false): void => {
    // A name of a file may arrive in parts, so that the final output alone has links.
    if (final && !isFinal) output.replaceChildren(...withFiles(text));
    else if (text === drawnText) return;
    else if (text.startsWith(drawnText)) output.append(text.slice(drawnText.length));
    else output.textContent = text;
    isFinal = final;
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
    node.setAttribute("aria-label", (entry.kind === "command" ? chatStrings.chat.commandIs : chatStrings.chat.toolIs)(what, stateLabels[entry.state]));
    note.textContent = entry.kind === "command" && entry.exitCode ? chatStrings.chat.exit(entry.exitCode) : entry.state === "declined" ? stateLabels.declined : "";
    input.textContent = entry.kind === "tool" ? entry.input : entry.command.includes("\n") || entry.command.length > 60 ? entry.command : "";
    input.hidden = input.textContent === "";
    setOutput(entry.output, entry.state !== "running");
    output.hidden = entry.output === "";
  };
  update(first);
  return { node, update, append: (_, text) => setOutput(drawnText + text), draw: () => undefined };
}

function patch(first: Entry): View {
  const node = el("article", { class: "patch" });
  let drawn = first;
  const groups = new FileGroups(() => update(drawn));
  const update = (entry: Entry): void => {
    if (entry.kind !== "patch") return;
    node.dataset["state"] = entry.state;
    node.setAttribute("aria-label", chatStrings.chat.patchIs(stateLabels[entry.state]));
    drawn = entry;
    const isGrouped = entry.files.length > maxFlat;
    const mark = el("span", { class: "mark", role: "img", label: stateLabels[entry.state] }, marks[entry.state]);
    const note = entry.state === "declined" ? stateLabels.declined : "";
    const refocus = keepFocus(node);
    const rows = groups.rows(entry.files, (file, i, folder) => [fileRow(file, isGrouped || i > 0 ? { folder } : { mark, note })]);
    node.replaceChildren(...(isGrouped ? [el("p", { class: "summary" }, mark, changeStrings.files.count(entry.files.length), ...(note ? [`, ${note}`] : []))] : []), ...rows);
    refocus();
  };
  update(first);
  return { node, update, append: () => undefined, draw: () => undefined };
}
