// The script of the webview. It shows the messages of the extension.
import type { ServerRequest } from "../src/core/serverRequest";
import type { FromPage, ToPage } from "../src/view/messages";
import { card } from "./requests";
import { Composer } from "./composer";
import { byId } from "./dom";
import { setFolder } from "./entries";
import { Log } from "./conversation";

const vscode = acquireVsCodeApi<{ draft: string }>();
const post = (message: FromPage): void => vscode.postMessage(message);

const log = new Log((href) => post({ type: "open", href }));
const composer = new Composer(
  {
    send: (text) => post({ type: "send", text }),
    stop: () => post({ type: "stop" }),
    saveDraft: (draft) => void vscode.setState({ draft }),
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

function showRequests(list: ServerRequest[]): void {
  const focused = document.activeElement?.closest<HTMLElement>(".request")?.dataset["request"];
  const ids = new Set(list.map((request) => request.id));
  for (const node of [...cards.querySelectorAll<HTMLElement>(".request")]) {
    if (!ids.has(node.dataset["request"] ?? "")) node.remove();
  }
  for (const request of list) {
    // Keep the card: the user may be filling it in.
    if ([...cards.children].some((node) => (node as HTMLElement).dataset["request"] === request.id)) continue;
    cards.append(
      card(request, {
        answer: (id, choice, values) => post({ type: "answer", id, choice, values }),
        diff: (id) => post({ type: "diff", id }),
        open: (href) => post({ type: "open", href }),
      }),
    );
    announce(`Codex waits for your answer. ${request.title} ${request.command}`);
  }
  if (focused !== undefined && !ids.has(focused)) composer.focus();
  log.scrollToEnd();
}

function setRunning(running: boolean): void {
  composer.setRunning(running);
  announce(running ? "Codex is working." : `Codex has finished. ${log.lastWords()}`);
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
      return log.entry(data.entry);
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
      return composer.add(data.text);
    case "focus":
      return composer.focus();
  }
});

post({ type: "ready" });
