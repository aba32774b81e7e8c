// The requirements for clients: each capture of testdata/conformance is played to a session. Its format is that of
// cmd/codex-bridge/e2e/conformance_test.go, which records the captures.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import type { Choice } from "../src/core/choice";
import type { Session } from "../src/core/session";
import type { Id } from "../src/rpc/peer";
import { type Answers, type Editor, Server, session } from "./fakeServer";

interface Message {
  id?: Id;
  method?: string;
  response?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { code: number; message: string };
}

interface Step {
  client?: Message;
  optional?: boolean;
  check?: string[];
  server?: Message;
  as?: string;
  user?: string;
  text?: string;
  shows?: string;
  lacks?: string;
  never?: string;
}

interface Requirement {
  name: string;
  number: number;
  text: string;
  steps: Step[];
}

const folder = join(process.cwd(), "../../testdata/conformance");

const requirements: Requirement[] = readdirSync(folder).map((file) => {
  const [head, ...steps] = readFileSync(join(folder, file), "utf8").trim().split("\n").map((line) => JSON.parse(line) as unknown);
  return { ...(head as Requirement), name: file.replace(".jsonl", ""), steps: steps as Step[] };
});

const responses = (requirement: Requirement): Message[] => requirement.steps.flatMap((step) => (step.server?.response ? [step.server] : []));

/** Throws the error of a response, or returns its result. */
function toAnswer(response: Message): unknown {
  if (response.error) throw Object.assign(new Error(response.error.message), { code: response.error.code });
  return response.result;
}

class Player {
  private readonly server: Server;
  private readonly session: Session;
  private readonly editor: Editor;
  private readonly ids = new Map<string, Id>();
  private taken = new Set<unknown>();

  constructor(private readonly requirement: Requirement, opening: Requirement) {
    const answers: Answers = {};
    for (const response of responses(opening)) answers[response.response!] = () => toAnswer(response);
    for (const step of requirement.steps) {
      if (step.client?.method && !step.optional) answers[step.client.method] = () => undefined; // a step answers
    }
    this.server = new Server(answers, "bridge");
    ({ session: this.session, editor: this.editor } = session([this.server]));
  }

  async play(): Promise<void> {
    const { steps } = this.requirement;
    for (const [index, step] of steps.entries()) {
      if (step.optional) continue;
      if (step.client?.response) await this.checkResponse(step.client);
      else if (step.client) await this.checkRequest(step, steps[index + 1]?.server);
      else if (step.server && !step.server.response) this.send(step);
      else if (step.user) await this.user(step);
      else if (step.shows) await this.until(`the chat shows ${step.shows}`, () => this.shows(step.shows!));
      else if (step.lacks) {
        await this.sync();
        assert.ok(!this.shows(step.lacks), `the chat shows ${step.lacks}`);
      } else if (step.never) {
        await this.sync();
        const [, name] = /^response (.*)$/.exec(step.never) ?? [];
        // The client may close a question that the server has resolved: the server ignores that answer.
        const sent = this.server.received.filter((m) => (name ? m.method === undefined && m.id === this.ids.get(name) && accepts(m.result) : m.method === step.never));
        assert.deepEqual(sent, []);
      }
    }
  }

  /** Everything that the webview gets to show. */
  private shows(text: string): boolean {
    const shown = JSON.stringify([this.session.entries(), this.editor.pending, this.editor.events.filter((line) => line.startsWith("entry"))]);
    return shown.includes(JSON.stringify(text).slice(1, -1));
  }

  private async until(what: string, condition: () => boolean): Promise<void> {
    for (let tries = 0; !condition(); tries++) {
      if (tries > 5_000) assert.fail(`never: ${what}; sent ${JSON.stringify(this.server.received.map((m) => m.method ?? m))}`);
      await tick();
    }
  }

  /** Waits until the client has handled all messages, by a request that it must answer. */
  private async sync(): Promise<void> {
    const id = `sync-${this.server.received.length}`;
    this.server.send({ id, method: "conformance/sync", params: {} });
    await this.until("an answer to a request with an unknown method", () => this.server.received.some((m) => m.id === id && m.error?.code === -32601));
  }

  private send({ server, as }: Step): void {
    const { response: _, ...message } = server!;
    if (as) this.ids.set(as, message.id!);
    this.server.send(message);
  }

  private async user(step: Step): Promise<void> {
    if (this.server.received.length > 0) await this.sync();
    const first = (): string => this.editor.pending[0]?.id ?? "";
    switch (step.user) {
      case "send":
        void this.session.send(step.text!).catch(() => undefined);
        return;
      case "accept":
      case "decline":
        this.session.answer(first(), step.user as Choice, {});
        return;
      case "accept unseen":
        assert.equal(this.session.pendingRequests.wasSeen(first()), false); // Requests.answerCurrent then shows it instead
        return;
      case "choose": {
        const [request] = this.editor.pending;
        this.session.answer(first(), "submit", { [request!.fields[0]!.id]: step.text! });
        return;
      }
      case "stop":
        void this.session.stop();
        return;
      case "hide":
      case "show":
      case "kill":
        return;
      default:
        assert.fail(`unknown step ${step.user}`);
    }
  }

  private async take(what: string, fits: (m: Message) => boolean): Promise<Message> {
    let found: Message | undefined;
    await this.until(`the client sends ${what}`, () => (found = this.server.received.find((m) => !this.taken.has(m) && fits(m as Message)) as Message | undefined) !== undefined);
    this.taken.add(found);
    return found!;
  }

  private async checkResponse(want: Message): Promise<void> {
    const got = await this.take(`a response to ${want.response}`, (m) => m.method === undefined && m.id === this.ids.get(want.response!));
    if (want.error) assert.equal(got.error?.code, want.error.code);
    else if ((want.result as { success?: boolean }).success === false) assert.equal((got.result as { success?: boolean }).success, false);
    else assert.deepEqual(got.result, want.result);
  }

  private async checkRequest(step: Step, response: Message | undefined): Promise<void> {
    const got = await this.take(step.client!.method!, (m) => m.method === step.client!.method);
    for (const key of step.check ?? []) {
      const want: unknown = JSON.parse(this.resolve(JSON.stringify(step.client!.params?.[key])));
      assert.ok(contains(got.params?.[key], want), `${key} is ${JSON.stringify(got.params?.[key])}, not ${JSON.stringify(want)}`);
    }
    if (got.id === undefined || !response) return;
    this.server.send(response.error ? { id: got.id, error: response.error } : { id: got.id, result: response.result });
  }

  /** Replaces the names of the thread and the turn by the ids of the capture. */
  private resolve(text: string): string {
    const id = (method: string, kind: string): string => {
      const result = responses(this.requirement).find((one) => one.response === method)?.result as Record<string, { id: string }> | undefined;
      return result?.[kind]?.id ?? "";
    };
    return text.replaceAll("$THREAD", () => id("thread/start", "thread")).replaceAll("$TURN", () => id("turn/start", "turn"));
  }
}

/** Reports whether a value has all that another one has. A client may send more members. */
function contains(value: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return value === wanted;
  if (typeof value !== "object" || value === null || (Array.isArray(wanted) && wanted.length !== (value as unknown[]).length)) return false;
  return Object.entries(wanted).every(([key, member]) => contains((value as Record<string, unknown>)[key], member));
}

const accepts = (result: unknown): boolean => /"accept/.test(JSON.stringify(result ?? null));

const opening = requirements.find((one) => one.number === 1)!;
for (const requirement of requirements) {
  test(`${requirement.name}: ${requirement.text}`, () => new Player(requirement, opening).play());
}
