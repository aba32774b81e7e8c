// The requests of the server that wait for the user. Each gets exactly one response; a cancelled request is declined.
import type { Choice } from "./choice";
import { askerOf, isComplete, type Keeper, type ServerRequest, toResponse, toServerRequest, type Values } from "./serverRequest";
import type { Change } from "./protocol";
import type { Id } from "../rpc/peer";

interface PendingRequest {
  request: ServerRequest;
  id: Id;
  params: unknown;
  changes: Change[];
  /** Whether the user has had it in view. */
  seen: boolean;
  answer(value: unknown): void;
}

/** How many answered requests stay known, for a notification about them that follows. */
const maxAnswered = 20;

/** Counts over all chats, so that a key names one request of one chat. */
let count = 0;

export class PendingRequests {
  private readonly pending = new Map<string, PendingRequest>();
  private readonly answered: PendingRequest[] = [];

  constructor(private readonly changed: (requests: ServerRequest[]) => void) {}

  list(): ServerRequest[] {
    return [...this.pending.values()].map((w) => w.request);
  }

  changes(id: string): Change[] {
    return this.pending.get(id)?.changes ?? [];
  }

  /** Records that the chat has had the requests in view. */
  markSeen(ids: string[]): void {
    for (const id of ids) {
      const entry = this.pending.get(id);
      if (entry) entry.seen = true;
    }
  }

  wasSeen(id: string): boolean {
    return this.pending.get(id)?.seen ?? false;
  }

  /** Returns a pending or recent request by its id for the server, or by the item that it is about. */
  find(id: unknown, itemId: string): ServerRequest | undefined {
    const all = [...this.pending.values(), ...this.answered];
    return all.find((entry) => itemId !== "" && entry.request.itemId === itemId)?.request ?? all.find((entry) => entry.id === id || entry.request.itemId === id)?.request;
  }

  /** Adds a request; the promise is its response. Returns undefined if the user can't answer this method. */
  add(id: Id, method: string, params: unknown, changes: Change[], keeper: Keeper = "codex"): Promise<unknown> | undefined {
    // A restarted app-server reuses request ids. With its own key, an old notification can't answer a new request.
    const key = `request-${++count}`;
    const request = toServerRequest(key, method, params, changes, askerOf(id, keeper));
    if (!request) return undefined;
    return new Promise((answer) => {
      this.pending.set(key, { request, id, params, changes, seen: false, answer });
      this.changed(this.list());
    });
  }

  private remove(key: string, entry: PendingRequest): void {
    this.pending.delete(key);
    this.answered.unshift(entry);
    this.answered.splice(maxAnswered);
  }

  /** Responds to a request. Returns false if it is no longer pending, or if a form has invalid values. */
  answer(id: string, choice: Choice, values: Values): boolean {
    const entry = this.pending.get(id);
    if (!entry || !isComplete(entry.request, choice, values)) return false;
    this.remove(id, entry);
    entry.answer(toResponse(entry.request, entry.params, choice, values));
    this.changed(this.list());
    return true;
  }

  /** Removes a request that Codex has resolved (serverRequest/resolved), maybe with another client's answer. It gets no response. */
  resolve(id: Id): void {
    for (const [key, entry] of [...this.pending]) {
      if (entry.id === id) this.remove(key, entry); // 1 and "1" are different ids
    }
    this.changed(this.list());
  }

  /** Declines the matching requests. */
  declineAll(matches: (request: ServerRequest) => boolean): void {
    for (const request of this.list()) {
      if (matches(request)) this.answer(request.id, "decline", {});
    }
  }
}
