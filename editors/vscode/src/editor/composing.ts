// Serves the composer of the chat: context, images, choices, suggestions and files.
import * as vscode from "vscode";
import { choiceOf, type Setting } from "../core/choices";
import * as strings from "../core/strings/chat";
import type { ThreadInfo } from "../core/threadInfo";
import type { Chat } from "../view/chat";
import type { FromPage, PickerKind } from "../view/messages";
import type { OpenChat } from "./chats";
import { addDropped, addFile, addProblems, addSelection, chooseContext, suggestFiles } from "./context";
import { openFile, resolveFile } from "./fileLinks";
import { Images } from "./images";
import { judge, listChoices } from "./pickers";

export interface ComposingHost {
  readonly chat: Chat;
  /** The chat that is shown. */
  readonly current: OpenChat | undefined;
  info(info: ThreadInfo): void;
  log(line: string): void;
}

export class Composing {
  readonly images: Images;

  /** storage: the storage folder of the workspace. */
  constructor(private readonly host: ComposingHost, storage: string | undefined) {
    this.images = new Images(storage);
  }

  /** Adds context to the message of the chat, and shows the chat. add: returns why it can't. */
  async addContext(add: (chat: OpenChat) => string | undefined | Promise<string | undefined>): Promise<void> {
    const chat = this.host.current;
    const why = chat && (await add(chat));
    if (why) void vscode.window.showInformationMessage(why);
    await this.host.chat.focus();
  }

  addSelection = (): Promise<void> => this.addContext(addSelection);
  addProblems = (): Promise<void> => this.addContext(addProblems);
  addFile = (uri?: vscode.Uri): Promise<void> =>
    this.addContext((chat) => {
      const file = uri ?? vscode.window.activeTextEditor?.document.uri;
      return file ? addFile(chat, file) : strings.context.noEditor;
    });

  /** Shows the choices of model and effort, or of approvals and sandbox. */
  async pick(kind: PickerKind): Promise<void> {
    await this.host.chat.focus();
    await this.showPicker(kind);
  }

  /** Shows the choices, after a new one if there is one. */
  private async showPicker(kind: PickerKind, setting?: Setting, value = ""): Promise<void> {
    const chat = this.host.current;
    if (!chat) return;
    try {
      if (setting !== undefined) await choose(chat, setting, value);
      this.setChosen(chat, chat.chosen);
      const groups = await listChoices(chat, kind);
      if (chat === this.host.current) this.host.chat.sendWhenReady({ type: "picker", kind, groups });
    } catch (cause) {
      this.host.chat.sendWhenReady({ type: "problem", text: strings.picker.failed((cause as Error).message) });
    }
  }

  setChosen(chat: OpenChat, chosen: OpenChat["chosen"]): void {
    chat.chosen = chosen;
    if (chat === this.host.current) this.host.info(chat.session.info);
  }

  private addImage(name: string, data: Uint8Array): void {
    const chat = this.host.current;
    if (!chat) return;
    try {
      this.images.add(chat, name, data);
    } catch (cause) {
      this.host.chat.send({ type: "problem", text: (cause as Error).message });
    }
  }

  /** Handles a message of the page. */
  handle(message: FromPage): void {
    const chat = this.host.current;
    switch (message.type) {
      case "suggest":
        void this.suggest(message.query, message.number);
        return;
      case "addContext":
        void this.addContext(chooseContext);
        return;
      case "removeChip":
        chat?.attachments.remove(message.id);
        return;
      case "image":
        this.addImage(message.name, message.data);
        return;
      case "dropFiles":
        void this.addContext((shown) => message.uris.map((uri) => addDropped(shown, uri)).find((why) => why !== undefined));
        return;
      case "pick":
        void this.showPicker(message.kind);
        return;
      case "choose":
        void this.showPicker(message.kind, message.setting, message.value);
        return;
      case "checkFiles":
        this.host.chat.send({ type: "files", paths: message.paths.filter((path) => chat && resolveFile(path, chat.folder) !== undefined) });
        return;
      case "openFile":
        if (chat) void openFile(message.path, message.line, message.column, chat.folder);
        return;
    }
  }

  private async suggest(query: string, number: number): Promise<void> {
    const chat = this.host.current;
    if (!chat) return;
    const suggestions = await suggestFiles(chat, query, (line) => this.host.log(line));
    this.host.chat.send({ type: "suggestions", number, suggestions });
  }
}

/** Records a choice for the next turn, if the policy allows it. */
async function choose(chat: OpenChat, setting: Setting, value: string): Promise<void> {
  if ((await judge(chat, setting, value)) !== "") return;
  const { effort: _, ...others } = chat.chosen; // another model has other efforts
  chat.chosen = { ...(setting === "model" ? others : chat.chosen), ...choiceOf(setting, value, chat.session.info, chat.chosen) };
}
