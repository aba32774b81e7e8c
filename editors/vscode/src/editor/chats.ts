// The open chats. Each has its own session, with a program of its own, and its own context and choices.
import { randomUUID } from "node:crypto";
import type { Chosen } from "../core/choices";
import { Attachments, type Attachment } from "../core/attachments";
import type { DeltaField, Entry } from "../core/entry";
import type { Gate } from "../core/gate";
import type { ServerRequest } from "../core/serverRequest";
import { Session } from "../core/session";
import type { Conversation, SessionHost, SessionObserver } from "../core/sessionHost";
import * as strings from "../core/strings/chat";
import type { ThreadInfo } from "../core/threadInfo";
import type { ChatTab } from "../view/messages";
import type { SavedChats } from "./conversationStore";

/** Receives the events of the chat that is shown, and those that matter for all. */
export interface Front extends Pick<SessionObserver, "entry" | "append" | "remove" | "reset" | "gate" | "info" | "threadsChanged" | "log"> {
  /** An entry of a chat that is not shown. */
  hiddenEntry(entry: Entry): void;
  requestsChanged(): void;
  runningChanged(chat: OpenChat): void;
  titleChanged(chat: OpenChat): void;
  chipsChanged(chat: OpenChat): void;
  turnCompleted(chat: OpenChat): void;
  save(): void;
  deleteFile(path: string): void;
}

export class OpenChat implements SessionObserver {
  session: Session;
  conversation: Conversation | undefined;
  /** When the running turn started, in milliseconds since 1970; 0: no turn runs. */
  since = 0;
  /** The values that the user has chosen for the next turn. */
  chosen: Chosen = {};
  /** The message that the user is writing. */
  draft = "";
  readonly attachments: Attachments;
  /** The attachments of messages whose turn has not ended. */
  private sent: Attachment[] = [];

  constructor(
    private readonly front: Front,
    private readonly isShown: (chat: OpenChat) => boolean,
    host: SessionHost,
    readonly id: string,
    public threadTitle: string,
    conversation: Conversation | undefined,
    /** The folder that Codex works in. */
    public folder: string,
  ) {
    this.conversation = conversation;
    this.attachments = new Attachments(() => front.chipsChanged(this), (path) => front.deleteFile(path));
    this.session = new Session(host, this, conversation);
  }

  get name(): string {
    return this.threadTitle.split("\n")[0]!.slice(0, 60) || strings.chats.unnamed;
  }

  get tab(): ChatTab {
    const waiting = this.session.pendingRequests.list().length > 0;
    return { id: this.id, title: this.name, state: waiting ? "waiting" : this.session.isRunning ? "running" : "idle" };
  }

  /** Whether the chat has neither a thread nor a message. */
  get isEmpty(): boolean {
    return this.session.current === undefined && this.session.entries().length === 0 && this.attachments.chips().length === 0;
  }

  /** Gives an empty chat another folder, and so another program. */
  async move(folder: string, host: SessionHost): Promise<void> {
    const old = this.session;
    this.folder = folder;
    this.session = new Session(host, this, undefined);
    await old.close();
  }

  /** Keeps the files of a sent message until its turn ends: Codex reads them when the turn takes the message. */
  keep(sent: Attachment[]): void {
    this.sent.push(...sent);
    if (!this.session.isRunning) this.discardSent();
  }

  async close(): Promise<void> {
    await this.session.close();
    this.discardSent();
    this.attachments.discard(this.attachments.take());
  }

  private discardSent(): void {
    this.attachments.discard(this.sent);
    this.sent = [];
  }

  // SessionObserver

  entry(entry: Entry): void {
    if (this.isShown(this)) this.front.entry(entry);
    else this.front.hiddenEntry(entry);
  }

  append(id: string, field: DeltaField, text: string): void {
    if (this.isShown(this)) this.front.append(id, field, text);
  }

  remove(id: string): void {
    if (this.isShown(this)) this.front.remove(id);
  }

  reset(): void {
    if (this.isShown(this)) this.front.reset();
  }

  requests(_: ServerRequest[]): void {
    this.front.requestsChanged();
  }

  running(running: boolean): void {
    this.since = running ? Date.now() : 0;
    if (!running) this.discardSent();
    this.front.runningChanged(this);
  }

  gate(gate: Gate): void {
    if (this.isShown(this)) this.front.gate(gate);
  }

  title(title: string): void {
    this.threadTitle = title;
    this.front.titleChanged(this);
  }

  info(info: ThreadInfo): void {
    if (this.isShown(this)) this.front.info(info);
  }

  completed(): void {
    this.front.turnCompleted(this);
  }

  threadsChanged(): void {
    this.front.threadsChanged();
  }

  saveConversation(conversation: Conversation | undefined): void {
    this.conversation = conversation;
    this.front.save();
  }

  log(line: string): void {
    this.front.log(line);
  }
}

/** The maximal number of open chats. Each may run a program. */
export const maxChats = 8;

export class Chats {
  readonly list: OpenChat[] = [];
  private shown: OpenChat | undefined;

  constructor(
    private readonly front: Front,
    private readonly host: (folder: string) => SessionHost,
    saved: SavedChats,
    /** The folders of the window. A saved chat of another folder is left out. */
    folders: string[],
  ) {
    for (const { id, title, conversation, folder = folders[0]!, draft = "" } of saved.chats.slice(0, maxChats)) {
      if (folders.includes(folder)) this.list.push(Object.assign(this.make(id, title, conversation, folder), { draft }));
    }
    if (this.list.length === 0) this.list.push(this.make(newId(), "", undefined, folders[0]!));
    this.shown = this.list.find((chat) => chat.id === saved.current) ?? this.list[0];
  }

  get current(): OpenChat {
    return this.shown!;
  }

  get saved(): SavedChats {
    const chats = this.list.map(({ id, threadTitle, conversation, folder, draft }) => ({ id, title: threadTitle, conversation, folder, ...(draft && { draft }) }));
    return { chats, current: this.current.id };
  }

  /** Opens another chat, by default in the folder of the shown one, and shows it. Throws if there are too many. */
  add(conversation?: Conversation, folder = this.current.folder): OpenChat {
    if (this.list.length >= maxChats) throw new Error(strings.chats.limit(maxChats));
    const chat = this.make(newId(), "", conversation, folder);
    this.list.push(chat);
    this.select(chat);
    return chat;
  }

  /** Keeps the message that the user is writing in a chat. */
  keepDraft(id: string, text: string): void {
    const chat = this.list.find((one) => one.id === id);
    if (!chat || chat.draft === text) return;
    chat.draft = text;
    this.front.save();
  }

  select(chat: OpenChat): void {
    this.shown = chat;
    this.front.reset();
    this.front.gate(chat.session.gate);
    this.front.save();
  }

  /** Gives an empty chat another folder. */
  async move(chat: OpenChat, folder: string): Promise<void> {
    await chat.move(folder, this.host(folder));
    if (chat === this.shown) this.select(chat);
  }

  /** Closes a chat and stops its program. The last one is replaced by an empty one. */
  async close(chat: OpenChat): Promise<void> {
    const at = this.list.indexOf(chat);
    if (at < 0) return;
    this.list.splice(at, 1);
    if (this.list.length === 0) this.list.push(this.make(newId(), "", undefined, chat.folder));
    if (this.shown === chat) this.shown = this.list[Math.max(0, at - 1)]!;
    this.select(this.current);
    await chat.close();
  }

  /** Returns the chat that shows a thread. */
  withThread(threadId: string): OpenChat | undefined {
    return this.list.find((chat) => chat.session.current === threadId);
  }

  /** Returns the chat of a request. */
  withRequest(id: string): OpenChat | undefined {
    return this.list.find((chat) => chat.session.pendingRequests.list().some((request) => request.id === id));
  }

  /** Returns the pending requests of all chats, those of the shown chat first. */
  requests(): { chat: OpenChat; request: ServerRequest }[] {
    const all = [this.current, ...this.list.filter((chat) => chat !== this.current)];
    return all.flatMap((chat) => chat.session.pendingRequests.list().map((request) => ({ chat, request })));
  }

  private make(id: string, title: string, conversation: Conversation | undefined, folder: string): OpenChat {
    return new OpenChat(this.front, (chat) => chat === this.shown, this.host(folder), id, title, conversation, folder);
  }
}

const newId = (): string => randomUUID().slice(0, 8);
