import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { LineReader, LineWriter } from "../src/rpc/lines";

test("LineReader joins messages from chunks of any size", () => {
  const text = '{"id":1,"result":"ä€😀"}\n\n{"method":"m"}\r\n{"half":';
  const bytes = Buffer.from(text);
  for (let size = 1; size <= bytes.length; size++) {
    const input = new PassThrough();
    const messages: unknown[] = [];
    new LineReader(input).listen((message) => messages.push(message));
    for (let at = 0; at < bytes.length; at += size) input.emit("data", bytes.subarray(at, at + size));
    assert.deepEqual(messages, [{ jsonrpc: "2.0", id: 1, result: "ä€😀" }, { jsonrpc: "2.0", method: "m" }], `${size} bytes at a time`);
  }
});

test("LineReader reports an invalid line and reads the next one", () => {
  const input = new PassThrough();
  const messages: unknown[] = [];
  const errors: string[] = [];
  const reader = new LineReader(input);
  reader.onError((cause) => errors.push(cause.message));
  reader.listen((message) => messages.push(message));
  input.emit("data", Buffer.from('nonsense\n{"id":1}\n'));
  assert.deepEqual([messages.length, errors], [1, ["a line that is not JSON"]]);
});

test("LineWriter writes a message as one line", async () => {
  const output = new PassThrough();
  const writer = new LineWriter(output);
  await writer.write({ jsonrpc: "2.0", method: "a\nb" } as never);
  assert.equal(String(output.read()), '{"jsonrpc":"2.0","method":"a\\nb"}\n');
});
