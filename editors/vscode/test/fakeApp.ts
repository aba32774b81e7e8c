// An app and its webview, with a fake VS Code.
import type { PendingRequests } from "../src/core/pendingRequests";
import { App } from "../src/editor/app";
import type { Chats } from "../src/editor/chats";
import { Chat } from "../src/view/chat";
import type { FromPage, ToPage } from "../src/view/messages";
import { calls, env, state, Uri } from "./fakeVscode";

/** Sets the fake VS Code back to a window with one folder. */
export function resetWindow(): void {
  calls.length = 0;
  Object.assign(state, { folders: ["/w"], settings: {}, openFiles: [], diagnostics: [], activeTab: undefined, activeEditor: undefined, input: undefined, foundFiles: [] });
  env.remoteName = undefined;
}

/** A webview view. Hiding it destroys its page, as VS Code does. */
class FakeView {
  visible = true;
  received: ToPage[] = [];
  badge: unknown;
  private receive: (message: FromPage) => void = () => undefined;
  private visibility = (): void => undefined;
  readonly webview = {
    options: {}, html: "", cspSource: "", asWebviewUri: (uri: Uri) => uri,
    onDidReceiveMessage: (f: (message: FromPage) => void) => void (this.receive = f),
    postMessage: (message: ToPage) => void (this.visible && this.received.push(message)),
  };
  onDidChangeVisibility = (f: () => void): void => void (this.visibility = f);
  onDidDispose = (): void => undefined;
  send = (message: FromPage): void => this.receive(message);
  show(visible: boolean): void {
    this.visible = visible;
    this.received = [];
    this.visibility();
  }
}

const attach = (chat: Chat): FakeView => {
  const view = new FakeView();
  chat.resolveWebviewView(view as never);
  view.send({ type: "ready" });
  return view;
};

interface Inside {
  chats: Chats;
}

/** An app with a storage folder of its own, and its webview. */
export function newApp(storage?: string): { app: App; view: FakeView; chats: Chats } {
  const context = { subscriptions: [], extensionUri: new Uri("file", "/ext"), extension: { packageJSON: { version: "0" } }, storageUri: storage === undefined ? undefined : Uri.file(storage) };
  const app = new App(context as never, { info: () => undefined, error: () => undefined, show: () => undefined } as never);
  const { chats } = app as unknown as Inside;
  return { app, view: attach(app.chat), chats };
}

/** The method of a request to run a command. */
export const run = "item/commandExecution/requestApproval";

/** An app with a request of the server. Its answers are recorded. */
export function appWith(method: string, params: object, keeper?: "bridge"): { app: App; view: FakeView; answers: string[]; pending: PendingRequests; id: string } {
  const { app, view, chats } = newApp();
  const answers: string[] = [];
  const { session } = chats.current;
  const pending = session.pendingRequests;
  const answer = session.answer.bind(session);
  session.answer = (id, choice, values) => {
    answers.push(choice);
    return answer(id, choice, values);
  };
  void pending.add(1, method, params, [], keeper);
  return { app, view, answers, pending, id: pending.list()[0]!.id };
}

/** An editor whose selection has this text. */
export const selected = (path: string, text: string): object => ({
  document: { uri: Uri.file(path), languageId: "typescript", getText: () => text },
  selection: { isEmpty: text === "", start: { line: 2, character: 0 }, end: { line: 3, character: 4 } },
});
/** Returns the labels of the context that the page shows. */
export const labels = (view: FakeView): string[] => view.received.flatMap((one) => (one.type === "state" ? [one.state.chips] : one.type === "chips" ? [one.chips] : [])).at(-1)?.map((chip) => chip.label) ?? [];
