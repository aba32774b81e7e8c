// A connection to an app-server, in the words that the session needs. vscode-jsonrpc does the work; this
// adds the id of a request, which Codex names again when it takes the question back (serverRequest/resolved).
import { createMessageConnection, ErrorCodes, type Logger, type MessageReader, type MessageWriter, ResponseError } from "vscode-jsonrpc/node";

export type Id = number | string;

export interface Handlers {
  notification(method: string, params: unknown): void;
  /** What is returned is the answer; undefined: the method is not known here. */
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
    return handlers.request(method, params, id) ?? new ResponseError(ErrorCodes.MethodNotFound, `the editor does not know ${method}`);
  });
  connection.listen();
  return {
    request: (method, params) => connection.sendRequest(method, params),
    notify: (method, params) => {
      // A connection that is gone is told of by the end of the process.
      (params === undefined ? connection.sendNotification(method) : connection.sendNotification(method, params)).catch(() => undefined);
    },
    dispose: () => connection.dispose(),
  };
}
