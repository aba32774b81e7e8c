// The script of the webview. It shows the messages of the extension.
import * as chatStrings from "../src/core/strings/chat";
import * as requestStrings from "../src/core/strings/requests";
import type { Entry } from "../src/core/entry";
import type { FromPage, PageState, ShownRequest, ToPage } from "../src/view/messages";
import { Bar } from "./bar";
import { Chips } from "./chips";
import { card, nameChat, showEdit } from "./requests";
import { Composer } from "./composer";
import { byId } from "./dom";
import { setFolder } from "./fileRow";
import { checkAgain, filesChecked, setFileActions } from "./files";
import { Log } from "./conversation";
import { Picker } from "./picker";
import { Tabs } from "./tabs";

const vscode = acquireVsCodeApi();
const post = (message: FromPage): void => vscode.postMessage(message);

const log = new Log({
  openLink: (href) => post({ type: "open", href }),
  openPolicy: (id, index) => post({ type: "openPolicy", id, index }),
  change: (id, index, action, hunk) => post({ type: "change", id, index, action, hunk }),
  notice: (id, index) => post({ type: "notice", id, index }),
});
const cards = byId("requests");
const announcement = byId("announce");
const announce = (text: string): void => {
  announcement.textContent = text;
};
/** The id of the chat that is shown. */
let chat = "";
const composer: Composer = new Composer({
  send: (text) => post({ type: "send", text }),
  command: (name, rest) => post({ type: "command", name, rest }),
  stop: () => post({ type: "stop" }),
  saveDraft: (draft) => {
    if (chat !== "") post({ type: "draft", id: chat, text: draft });
  },
  suggest: (query, number) => post({ type: "suggest", query, number }),
  announce,
});
const chips = new Chips({
  remove: (id) => post({ type: "removeChip", id }),
  image: (name, data) => post({ type: "image", name, data }),
  files: (uris) => post({ type: "dropFiles", uris }),
  problem: (text) => composer.showProblem(text),
  focusMessage: () => composer.focus(),
});
const picker = new Picker({
  choose: (kind, setting, value) => post({ type: "choose", kind, setting, value }),
  announce,
  closed: () => composer.focus(),
});
const bar = new Bar({ pick: (kind) => post({ type: "pick", kind }), addContext: () => post({ type: "addContext" }), chooseFolder: () => post({ type: "chooseFolder" }) });
const tabs = new Tabs({
  select: (id) => post({ type: "tab", action: "select", id }),
  close: (id) => post({ type: "tab", action: "close", id }),
  create: () => post({ type: "newChat" }),
});
setFileActions({
  check: (paths) => post({ type: "checkFiles", paths }),
  open: (path, line, column) => post({ type: "openFile", path, line, column }),
});
const title = byId("title");
const blocked = byId("blocked");

blocked.querySelector("button")?.addEventListener("click", () => post({ type: "unblock" }));

// Reports the cards that the user has in view: half of the card, or as much of it as fits.
const seen = new IntersectionObserver(
  (changes) => {
    const ids = changes.flatMap(({ isIntersecting, intersectionRatio, intersectionRect, rootBounds, target }) => {
      const fits = intersectionRatio >= 0.5 || intersectionRect.height >= (rootBounds?.height ?? Infinity) / 2;
      return isIntersecting && fits ? [(target as HTMLElement).dataset["request"] ?? ""] : [];
    });
    if (ids.length > 0 && document.visibilityState === "visible") post({ type: "seen", ids });
  },
  { root: cards, threshold: [0, 0.25, 0.5, 0.75, 1] },
);

function showRequests(list: ShownRequest[]): void {
  const focused = document.activeElement?.closest<HTMLElement>(".request")?.dataset["request"];
  const ids = new Set(list.map((request) => request.id));
  for (const node of [...cards.querySelectorAll<HTMLElement>(".request")]) {
    if (ids.has(node.dataset["request"] ?? "")) continue;
    seen.unobserve(node);
    node.remove();
  }
  for (const request of list) {
    // Keep the card: the user may be filling it in.
    const existing = [...cards.querySelectorAll<HTMLElement>(".request")].find((node) => node.dataset["request"] === request.id);
    if (existing) {
      nameChat(existing, request.chat);
      showEdit(existing, request);
      continue;
    }
    const node = card(request, {
      answer: (id, choice, values) => post({ type: "answer", id, choice, values }),
      diff: (id) => post({ type: "diff", id }),
      edit: (id) => post({ type: "edit", id }),
      discardEdit: (id) => post({ type: "discardEdit", id }),
      open: (href) => post({ type: "open", href }),
    });
    cards.append(node);
    seen.observe(node);
    const what = [request.chat ? chatStrings.chats.inChat(request.chat) : "", request.leaves ? `${requestStrings.request.leaves}. ${requestStrings.request.whatLeaves(request.leaves)}` : "", request.title, request.command];
    const left = request.expiresAt === null ? "" : requestStrings.request.expiresSoon(request.expiresAt - Date.now());
    announce(chatStrings.chat.waiting([...what, left].filter(Boolean).join(" ")));
  }
  if (focused !== undefined && !ids.has(focused)) composer.focus();
  log.scrollToEnd();
}

function showEntry(entry: Entry): void {
  log.entry(entry);
  if (entry.kind === "policy") announce([requestStrings.policy[entry.card], ...entry.decisions.map((one) => `${one.what}. ${one.why}`)].join(". "));
}

function setRunning(since: number): void {
  const running = since > 0;
  composer.setRunning(running);
  bar.setRunning(since);
  if (!running) checkAgain();
  announce(running ? chatStrings.chat.working : chatStrings.chat.finished(log.lastWords()));
}

function setTitle(text: string): void {
  title.textContent = text.split("\n")[0] ?? "";
  title.title = text;
  title.hidden = text === "";
}

function showChips(list: PageState["chips"]): void {
  const before = byId("chips").childElementCount;
  chips.show(list);
  composer.setContext(list.length > 0);
  const last = list.at(-1);
  if (list.length > before && last) announce(chatStrings.context.added(last.label));
}

function showState(state: PageState): void {
  setFolder(state.folder);
  if (state.chat !== chat) {
    chat = state.chat;
    picker.close();
    composer.draft = state.draft;
  }
  tabs.show(state.tabs, state.chat);
  log.reset(state.entries);
  showRequests(state.requests);
  showChips(state.chips);
  bar.show(state.info, state.chosen);
  bar.showFolder(state.folderName);
  composer.setRunning(state.since > 0);
  bar.setRunning(state.since);
  setTitle(state.title);
  blocked.hidden = state.blocked === null;
  composer.block(state.blocked !== null);
  const [text, button] = [blocked.querySelector("p"), blocked.querySelector("button")];
  if (text) text.textContent = state.blocked?.text ?? "";
  if (button) button.textContent = state.blocked?.button ?? "";
}

window.addEventListener("message", ({ data }: MessageEvent<ToPage>) => {
  switch (data.type) {
    case "state":
      return showState(data.state);
    case "entry":
      return showEntry(data.entry);
    case "append":
      return log.append(data.id, data.field, data.text);
    case "remove":
      return log.remove(data.id);
    case "requests":
      return showRequests(data.requests);
    case "running":
      return setRunning(data.since);
    case "tabs":
      return tabs.show(data.tabs, data.chat);
    case "chips":
      return showChips(data.chips);
    case "problem":
      return composer.showProblem(data.text);
    case "suggestions":
      return composer.completion.show(data.number, data.suggestions);
    case "info":
      return bar.show(data.info, data.chosen);
    case "picker":
      return picker.show(data.kind, data.groups);
    case "files":
      return filesChecked(data.paths);
    case "title":
      return setTitle(data.title);
    case "sent":
      if (!data.ok) composer.restore(data.text);
      return;
    case "focus":
      return composer.focus();
  }
});

post({ type: "ready" });
