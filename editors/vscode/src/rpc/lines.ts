// JSON Lines for vscode-jsonrpc, which plain `codex app-server` speaks. The bridge speaks the LSP base protocol, for
// which vscode-jsonrpc has a reader and a writer.
import type { Readable, Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import {
  AbstractMessageReader, AbstractMessageWriter, type DataCallback, type Disposable, type Message, type MessageReader, type MessageWriter,
} from "vscode-jsonrpc/node";

export class LineReader extends AbstractMessageReader implements MessageReader {
  constructor(private readonly input: Readable) {
    super();
  }

  listen(callback: DataCallback): Disposable {
    const decoder = new StringDecoder("utf8");
    let rest: string[] = []; // pieces of an incomplete line, joined once at its end
    const data = (chunk: Buffer): void => {
      const parts = decoder.write(chunk).split("\n");
      const last = parts.pop() ?? "";
      for (const part of parts) {
        const line = rest.join("") + part;
        rest = [];
        if (line.trim() !== "") this.parse(line, callback);
      }
      if (last !== "") rest.push(last);
    };
    const error = (cause: Error): void => this.fireError(cause);
    const close = (): void => this.fireClose();
    this.input.on("data", data).on("error", error).on("close", close);
    return { dispose: () => void this.input.off("data", data).off("error", error).off("close", close) };
  }

  private parse(line: string, callback: DataCallback): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch (cause) {
      this.fireError(new Error("a line that is not JSON", { cause }));
      return;
    }
    if (typeof message === "object" && message !== null) callback({ ...message, jsonrpc: "2.0" } as Message);
  }
}

export class LineWriter extends AbstractMessageWriter implements MessageWriter {
  private failures = 0;

  constructor(private readonly output: Writable) {
    super();
    output.on("error", (cause: Error) => this.fireError([cause, undefined, ++this.failures]));
    output.on("close", () => this.fireClose());
  }

  async write(message: Message): Promise<void> {
    await new Promise<void>((done, failed) => {
      this.output.write(`${JSON.stringify(message)}\n`, (cause) => (cause ? failed(cause) : done()));
    });
  }

  end(): void {
    this.output.end();
  }
}
