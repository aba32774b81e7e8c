// The script of the webview. It shows the messages of the extension.
import * as strings from "../src/core/strings";
import type { Entry } from "../src/core/entry";
import type { ServerRequest } from "../src/core/serverRequest";
import type { FromPage, ToPage } from "../src/view/messages";
import { card } from "./requests";
import { Composer } from "./composer";
import { byId } from "./dom";
import { setFolder } from "./entries";
import { Log } from "./conversation";

/** added: the number of the last draft that the extension has sent. */
const vscode = acquireVsCodeApi<{ draft: string; added?: number }>();
const post = (message: FromPage): void => vscode.postMessage(message);

const log = new Log({
  openLink: (href) => post({ type: "open", href }),
  openPolicy: (id, index) => post({ type: "openPolicy", id, index }),
  notice: (id) => post({ type: "notice", id }),
});
let added = vscode.getState()?.added ?? 0;
const composer = new Composer(
  {
    send: (text) => post({ type: "send", text }),
    stop: () => post({ type: "stop" }),
    saveDraft: (draft) => void vscode.setState({ draft, added }),
  },
  vscode.getState()?.draft ?? "",
);
const cards = byId("requests");
const announcement = byId("announce");
const title = byId("title");
const blocked = byId("blocked");

blocked.querySelector("button")?.addEventListener("click", () => post({ type: "unblock" }));

const announce = (text: string): void => {
  announcement.textContent = text;
};

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

function showRequests(list: ServerRequest[]): void {
  const focused = document.activeElement?.closest<HTMLElement>(".request")?.dataset["request"];
  const ids = new Set(list.map((request) => request.id));
  for (const node of [...cards.querySelectorAll<HTMLElement>(".request")]) {
    if (ids.has(node.dataset["request"] ?? "")) continue;
    seen.unobserve(node);
    node.remove();
  }
  for (const request of list) {
    // Keep the card: the user may be filling it in.
    if ([...cards.children].some((node) => (node as HTMLElement).dataset["request"] === request.id)) continue;
    const node = card(request, {
      answer: (id, choice, values) => post({ type: "answer", id, choice, values }),
      diff: (id) => post({ type: "diff", id }),
      open: (href) => post({ type: "open", href }),
    });
    cards.append(node);
    seen.observe(node);
    const what = [request.leaves ? `${strings.request.leaves}. ${strings.request.whatLeaves(request.leaves)}` : "", request.title, request.command];
    const left = request.expiresAt === null ? "" : strings.request.expiresSoon(request.expiresAt - Date.now());
    announce(strings.chat.waiting([...what, left].filter(Boolean).join(" ")));
  }
  if (focused !== undefined && !ids.has(focused)) composer.focus();
  log.scrollToEnd();
}

function showEntry(entry: Entry): void {
  log.entry(entry);
  if (entry.kind === "policy") announce([strings.policy[entry.card], ...entry.decisions.map((one) => `${one.what}. ${one.why}`)].join(". "));
}

function setRunning(running: boolean): void {
  composer.setRunning(running);
  announce(running ? strings.chat.working : strings.chat.finished(log.lastWords()));
}

function setTitle(text: string): void {
  title.textContent = text.split("\n")[0] ?? "";
  title.title = text;
  title.hidden = text === "";
}

window.addEventListener("message", ({ data }: MessageEvent<ToPage>) => {
  switch (data.type) {
    case "state": {
      const { state } = data;
      setFolder(state.folder);
      log.reset(state.entries);
      showRequests(state.requests);
      composer.setRunning(state.running);
      setTitle(state.title);
      blocked.hidden = state.blocked === null;
      composer.block(state.blocked !== null);
      const [text, button] = [blocked.querySelector("p"), blocked.querySelector("button")];
      if (text) text.textContent = state.blocked?.text ?? "";
      if (button) button.textContent = state.blocked?.button ?? "";
      return;
    }
    case "entry":
      return showEntry(data.entry);
    case "append":
      return log.append(data.id, data.field, data.text);
    case "remove":
      return log.remove(data.id);
    case "requests":
      return showRequests(data.requests);
    case "running":
      return setRunning(data.running);
    case "title":
      return setTitle(data.title);
    case "sent":
      if (!data.ok) composer.restore(data.text);
      return;
    case "draft":
      // The extension sends a draft again until it is confirmed.
      if (data.number > added) {
        added = data.number;
        composer.add(data.text);
      } else composer.focus();
      return post({ type: "drafted", number: data.number });
    case "focus":
      return composer.focus();
  }
});

post({ type: "ready" });
