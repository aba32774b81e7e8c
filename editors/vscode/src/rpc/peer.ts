// A JSON-RPC connection to an app-server. It adds the id of a request to vscode-jsonrpc's handler, because Codex sends
// the id again in serverRequest/resolved.
import { createMessageConnection, ErrorCodes, type Logger, type MessageReader, type MessageWriter, ResponseError } from "vscode-jsonrpc/node";

export type Id = number | string;

export interface Handlers {
  notification(method: string, params: unknown): void;
  /** Returns the result, or undefined for an unknown method. */
  request(method: string, params: unknown, id: Id): Promise<unknown> | undefined;
}

export interface Peer {
  request<T>(method: string, params: unknown): Promise<T>;
  notify(method: string, params?: unknown): void;
  dispose(): void;
}

export function connect(reader: MessageReader, writer: MessageWriter, handlers: Handlers, logger: Logger): Peer {
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
    return handlers.request(method, params, id) ?? new ResponseError(ErrorCodes.MethodNotFound, `the editor does not support ${method}`);
  });
  connection.listen();
  return {
    request: (method, params) => connection.sendRequest(method, params),
    notify: (method, params) => {
      // The exit of the process reports a closed connection.
      (params === undefined ? connection.sendNotification(method) : connection.sendNotification(method, params)).catch(() => undefined);
    },
    dispose: () => connection.dispose(),
  };
}
