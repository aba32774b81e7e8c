import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ConversationStore, type SavedChats } from "../src/editor/conversationStore";
import { tempFolder } from "./tempFolder";

test("ConversationStore saves at once, for the next window too", () => {
  const folder = join(tempFolder(), "storage");
  const none: SavedChats = { chats: [], current: "" };
  assert.deepEqual(new ConversationStore(folder).saved, none);
  const two: SavedChats = { chats: [{ id: "a", title: "one", conversation: { key: "k", threadId: "t" }, draft: "half a message" }, { id: "b", title: "", conversation: undefined }], current: "b" };
  new ConversationStore(folder).saved = two;
  assert.deepEqual(new ConversationStore(folder).saved, two);
  writeFileSync(join(folder, "conversation.json"), '{"key":"k","threadId":"t"}'); // of a version with one chat
  assert.deepEqual(new ConversationStore(folder).saved, { chats: [{ id: "1", title: "", conversation: { key: "k", threadId: "t" } }], current: "1" });
  for (const bad of ["{", '{"chats":[{"id":3}]}', "[]"]) {
    writeFileSync(join(folder, "conversation.json"), bad);
    assert.deepEqual(new ConversationStore(folder).saved.chats, [], bad);
  }
  const nowhere = new ConversationStore(undefined);
  nowhere.saved = two;
  assert.deepEqual(nowhere.saved, none);
});
