// Opens the thread of a conversation: resumes, forks or starts it, and reads its turns.
import { message, type Connection } from "./connection";
import type { Thread, ThreadResponse, Turn } from "./protocol";
import type { Conversation, SessionHost } from "./sessionHost";
import type { Peer } from "../rpc/peer";

/** Errors of Codex 0.169.0 for a thread that does not exist. */
const threadNotFound = /no rollout found|thread not found|invalid session id/i;
/** Errors for a thread that another process holds: after a reload of the window, the previous process, which exits soon. */
const heldByProcess = /already has an active writer/i;
const heldByProcessCode = -32015;
/** How long to wait for that process, in milliseconds. */
const maxWait = 10_000;

/** Opens the thread of a conversation, or starts one. Returns the key that the conversation has now. */
export async function openThread(
  host: SessionHost, connection: Connection, peer: Peer, before: Conversation | undefined,
): Promise<{ opened: ThreadResponse; key: string }> {
  const settings = host.settings();
  const common = {
    cwd: host.cwd,
    approvalPolicy: settings.approvalPolicy,
    sandbox: settings.sandbox,
    ...(settings.model && { model: settings.model }),
  };
  const hasBindings = connection.has("bridge/binding/read");
  let opened: ThreadResponse | undefined;
  if (before && !(hasBindings && before.key)) {
    try {
      const method = before.isFork ? "thread/fork" : "thread/resume";
      opened = await retryWhileHeld(host, () => peer.request<ThreadResponse>(method, { ...common, threadId: before.threadId }));
    } catch (cause) {
      if (!threadNotFound.test(message(cause)) || before.key === "") throw cause; // the user chose this thread; do not start another one
    }
  }
  const key = before?.key || host.newKey();
  opened ??= await retryWhileHeld(host, () =>
    peer.request<ThreadResponse>("thread/start", {
      ...common,
      ...(hasBindings ? { bridge: { sessionKey: key } } : {}),
      ...(connection.isPlain && host.tools().length > 0 ? { dynamicTools: host.tools() } : {}),
    }),
  );
  return { opened, key: before && before.key === "" ? "" : key };
}

/** Repeats open while another process holds the thread, for at most maxWait. */
async function retryWhileHeld<T>(host: SessionHost, open: () => Promise<T>): Promise<T> {
  for (let waited = 0; ; waited += 250) {
    try {
      return await open();
    } catch (cause) {
      const busy = (cause as { code?: unknown }).code === heldByProcessCode || heldByProcess.test(message(cause));
      if (!busy || waited >= maxWait) throw cause;
    }
    await host.pause(250);
  }
}

/** Returns the turns of an opened thread. */
export async function readTurns(peer: Peer, thread: Thread, log: (line: string) => void): Promise<Turn[]> {
  if (thread.turns.length > 0) return thread.turns;
  try {
    return (await peer.request<{ thread: Thread }>("thread/read", { threadId: thread.id, includeTurns: true })).thread.turns;
  } catch (cause) {
    log(`thread/read: ${message(cause)}`); // fails for a thread without turns
    return [];
  }
}
