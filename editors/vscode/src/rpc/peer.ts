// A JSON-RPC connection to an app-server. It adds the id of a request to vscode-jsonrpc's handler, because Codex sends
// the id again in serverRequest/resolved.
import { createMessageConnection, ErrorCodes, type Logger, type MessageReader, type MessageWriter, ResponseError } from "vscode-jsonrpc/node";
import * as strings from "../core/strings/bridge";

export type Id = number | string;

export interface Handlers {
  notification(method: string, params: unknown): void;
  /** Returns the result, or undefined for an unknown method. */
  request(method: string, params: unknown, id: Id): Promise<unknown> | undefined;
}

export interface Peer {
  /** Rejects with an ExitError if the process ends before its response. */
  request<T>(method: string, params: unknown): Promise<T>;
  notify(method: string, params?: unknown): void;
  dispose(): void;
}

/** The process ended, with the reason for people. */
export class ExitError extends Error {}

/** ended: resolves with the reason of the exit. */
export function connect(reader: MessageReader, writer: MessageWriter, handlers: Handlers, logger: Logger, ended: Promise<string>): Peer {
  let id: Id = 0;
  const connection = createMessageConnection(reader, writer, logger, {
    messageStrategy: {
      handleMessage(message, next) {
        if ("id" in message && "method" in message) id = message.id as Id; // handlers run before next returns
        return next(message);
      },
    },
  });
  connection.onNotification((method: string, params: unknown) => handlers.notification(method, params));
  connection.onRequest((method: string, params: unknown) => {
    return handlers.request(method, params, id) ?? new ResponseError(ErrorCodes.MethodNotFound, strings.program.unsupported(method));
  });
  connection.listen();
  const exit = ended.then((why) => {
    throw new ExitError(why);
  });
  exit.catch(() => undefined);
  return {
    request: async <T>(method: string, params: unknown) => {
      try {
        return await connection.sendRequest<T>(method, params);
      } catch (cause) {
        // An error of the server has its own code. Every other error means that the connection is closed.
        if (cause instanceof ResponseError && cause.code !== ErrorCodes.PendingResponseRejected) throw cause;
        return await exit;
      }
    },
    notify: (method, params) => {
      // The exit of the process reports a closed connection.
      (params === undefined ? connection.sendNotification(method) : connection.sendNotification(method, params)).catch(() => undefined);
    },
    dispose: () => connection.dispose(),
  };
}
