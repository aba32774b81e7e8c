// The requests of the server that wait for the user. Each gets exactly one response; a cancelled request is declined.
import { type ServerRequest, toResponse, toServerRequest, type Choice, type Values } from "./serverRequest";
import type { Change } from "./protocol";
import type { Id } from "../rpc/peer";

interface PendingRequest {
  request: ServerRequest;
  id: Id;
  params: unknown;
  changes: Change[];
  answer(value: unknown): void;
}

export class PendingRequests {
  private readonly pending = new Map<string, PendingRequest>();
  private count = 0;

  constructor(private readonly changed: (requests: ServerRequest[]) => void) {}

  list(): ServerRequest[] {
    return [...this.pending.values()].map((w) => w.request);
  }

  changes(id: string): Change[] {
    return this.pending.get(id)?.changes ?? [];
  }

  /** Adds a request; the promise is its response. Returns undefined if the user can't answer this method. */
  add(id: Id, method: string, params: unknown, changes: Change[]): Promise<unknown> | undefined {
    // A restarted app-server reuses request ids. With its own key, an old notification can't answer a new request.
    const key = `request-${++this.count}`;
    const request = toServerRequest(key, method, params, changes);
    if (!request) return undefined;
    return new Promise((answer) => {
      this.pending.set(key, { request, id, params, changes, answer });
      this.changed(this.list());
    });
  }

  /** Responds to a request. Returns false if it is no longer pending. */
  answer(id: string, choice: Choice, values: Values): boolean {
    const entry = this.pending.get(id);
    if (!entry) return false;
    this.pending.delete(id);
    entry.answer(toResponse(entry.request, entry.params, choice, values));
    this.changed(this.list());
    return true;
  }

  /** Removes a request that Codex has resolved (serverRequest/resolved). Codex ignores its response. */
  resolve(id: Id): void {
    for (const [key, entry] of this.pending) {
      if (entry.id === id) this.answer(key, "decline", {}); // 1 and "1" are different ids
    }
  }

  /** Declines the matching requests. */
  declineAll(matches: (request: ServerRequest) => boolean): void {
    for (const request of this.list()) {
      if (matches(request)) this.answer(request.id, "decline", {});
    }
  }
}
