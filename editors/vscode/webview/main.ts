// The page of the chat: takes what the extension tells and shows it.
import type { Ask } from "../src/core/serverRequest";
import type { FromPage, ToPage } from "../src/view/messages";
import { card } from "./requests";
import { Composer } from "./composer";
import { byId } from "./dom";
import { setFolder } from "./entries";
import { Log } from "./conversation";

const vscode = acquireVsCodeApi<{ draft: string }>();
const tell = (message: FromPage): void => vscode.postMessage(message);

const log = new Log((href) => tell({ type: "open", href }));
const composer = new Composer(
  {
    send: (text) => tell({ type: "send", text }),
    stop: () => tell({ type: "stop" }),
    keep: (draft) => void vscode.setState({ draft }),
  },
  vscode.getState()?.draft ?? "",
);
const cards = byId("asks");
const announcement = byId("announce");
const title = byId("title");
const blocked = byId("blocked");

blocked.querySelector("button")?.addEventListener("click", () => tell({ type: "unblock" }));

const announce = (text: string): void => {
  announcement.textContent = text;
};

function asks(list: Ask[]): void {
  const had = document.activeElement?.closest<HTMLElement>(".ask")?.dataset["ask"];
  const wanted = new Set(list.map((ask) => ask.id));
  for (const node of [...cards.querySelectorAll<HTMLElement>(".ask")]) {
    if (!wanted.has(node.dataset["ask"] ?? "")) node.remove();
  }
  for (const ask of list) {
    // What is being filled in stays as it is.
    if ([...cards.children].some((node) => (node as HTMLElement).dataset["ask"] === ask.id)) continue;
    cards.append(
      card(ask, {
        answer: (id, choice, values) => tell({ type: "answer", id, choice, values }),
        diff: (id) => tell({ type: "diff", id }),
        open: (href) => tell({ type: "open", href }),
      }),
    );
    announce(`Codex waits for your answer. ${ask.title} ${ask.command}`);
  }
  if (had !== undefined && !wanted.has(had)) composer.focus();
  log.stay();
}

function turn(running: boolean): void {
  composer.turn(running);
  announce(running ? "Codex works." : `Codex has finished. ${log.lastWords()}`);
}

function named(text: string): void {
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
      asks(state.asks);
      composer.turn(state.running);
      named(state.title);
      blocked.hidden = state.blocked === null;
      composer.block(state.blocked !== null);
      const [text, button] = [blocked.querySelector("p"), blocked.querySelector("button")];
      if (text) text.textContent = state.blocked?.text ?? "";
      if (button) button.textContent = state.blocked?.button ?? "";
      return;
    }
    case "entry":
      return log.entry(data.entry);
    case "grow":
      return log.grow(data.id, data.field, data.text);
    case "gone":
      return log.gone(data.id);
    case "asks":
      return asks(data.asks);
    case "running":
      return turn(data.running);
    case "title":
      return named(data.title);
    case "sent":
      if (!data.ok) composer.giveBack(data.text);
      return;
    case "draft":
      return composer.add(data.text);
    case "focus":
      return composer.focus();
  }
});

tell({ type: "ready" });
