import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Memory } from "../src/editor/conversationStore";

test("a conversation is there at once, for the next window too", () => {
  const root = mkdtempSync(join(tmpdir(), "memory-"));
  try {
    const folder = join(root, "storage");
    assert.equal(new Memory(folder).conversation, undefined);
    new Memory(folder).conversation = { key: "k", threadId: "t" };
    assert.deepEqual(new Memory(folder).conversation, { key: "k", threadId: "t" });
    new Memory(folder).conversation = undefined;
    assert.equal(new Memory(folder).conversation, undefined);
    writeFileSync(join(folder, "conversation.json"), "{");
    assert.equal(new Memory(folder).conversation, undefined);
    const none = new Memory(undefined);
    none.conversation = { key: "k", threadId: "t" };
    assert.equal(none.conversation, undefined);
  } finally {
    rmSync(root, { recursive: true });
  }
});
