import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ConversationStore } from "../src/editor/conversationStore";

test("ConversationStore saves at once, for the next window too", () => {
  const root = mkdtempSync(join(tmpdir(), "memory-"));
  try {
    const folder = join(root, "storage");
    assert.equal(new ConversationStore(folder).conversation, undefined);
    new ConversationStore(folder).conversation = { key: "k", threadId: "t" };
    assert.deepEqual(new ConversationStore(folder).conversation, { key: "k", threadId: "t" });
    new ConversationStore(folder).conversation = undefined;
    assert.equal(new ConversationStore(folder).conversation, undefined);
    writeFileSync(join(folder, "conversation.json"), "{");
    assert.equal(new ConversationStore(folder).conversation, undefined);
    const none = new ConversationStore(undefined);
    none.conversation = { key: "k", threadId: "t" };
    assert.equal(none.conversation, undefined);
  } finally {
    rmSync(root, { recursive: true });
  }
});
