// The changes that a turn of a session makes: its snapshots, and the card of its files.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Session } from "../src/core/session";
import { codex, item, session, texts, threadResponse } from "./fakeServer";
import { tempFolder } from "./tempFolder";

test("a snapshot is taken before a turn, not before a steer, and the turn ends with a card of its changes", async () => {
  const server = codex();
  const calls: string[] = [];
  const { session: s, editor } = session([server], undefined, {
    beforeTurn: (thread, text) => {
      calls.push(`before ${thread} ${text}, ${server.sent("turn/start").length} turns`);
      return Promise.resolve("git is missing");
    },
    afterTurn: (thread, turn) => {
      calls.push(`after ${thread} ${turn}`);
      return Promise.resolve({ kind: "changes", id: "changes-1", phase: "recorded", files: [], uncovered: ["a"] });
    },
  });
  await s.send("hello");
  await s.send("more");
  assert.equal(server.sent("turn/steer").length, 1);
  server.notify("turn/completed", { threadId: "t1", turn: { id: "turn1", items: [], status: "completed", error: null } });
  await editor.waitUntil(() => editor.events.includes("entry changes changes-1"));
  assert.deepEqual(calls, ["before t1 hello, 0 turns", "after t1 turn1"]);
  assert.ok(texts(s.entries()).includes("notice No restore point: git is missing"));
});

const newFile = (path: string): string => `diff --git a/${path} b/${path}\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+text\n`;

test("the files of a running turn are shown, grow, and are replaced by the recorded ones", async () => {
  let turns = 0;
  const server = codex({ "turn/start": () => ({ turn: { id: `turn${++turns}` } }) });
  const ends: (() => void)[] = [];
  const all: string[][] = [];
  const cwd = tempFolder();
  mkdirSync(join(cwd, ".git")); // or a folder above might be the repository
  const { session: s, editor } = session([server], undefined, {
    cwd,
    beforeTurn: () => Promise.resolve(""),
    afterTurn: async (_, turn, patched) => {
      all.push(patched);
      await new Promise<void>((done) => ends.push(done));
      const file = { path: "made", kind: "add" as const, added: 1, removed: 0, note: "", hunks: 1, parts: [], state: "" as const };
      return turn === "turn1" ? { kind: "changes", id: `changes-${turn}`, phase: "recorded", files: [file], uncovered: [] } : undefined;
    },
  });
  const shown = (): string => s.entries().flatMap((one) => (one.kind === "changes" ? [[one.phase, ...one.files.map((file) => file.path)].join(" ")] : [])).join(", ");
  const until = async (want: string): Promise<void> => {
    await editor.waitUntil(() => shown() === want);
    assert.equal(s.entries().at(-1)!.kind, "changes", "it follows the last entry");
  };
  const diff = (turnId: string, ...files: string[]): void => server.notify("turn/diff/updated", { threadId: "t1", turnId, diff: files.map((path) => newFile(path)).join("") });
  const complete = async (id: string): Promise<void> => {
    server.notify("turn/completed", { threadId: "t1", turn: { id, items: [], status: "completed", error: null } });
    await editor.waitUntil(() => editor.events.includes("completed") && ends.length === 1);
    diff(id, "late.txt");
    ends.pop()!();
  };
  await s.send("hello");
  diff("turn1", "a.txt");
  await until("running a.txt");
  server.notify("item/completed", item("agentMessage", "m", { text: "more" }));
  diff("turn1", "a.txt", "b.txt");
  await until("running a.txt b.txt");
  diff("turn1", "a.txt", "b.txt", "c.txt");
  await until("running a.txt b.txt c.txt");
  await complete("turn1");
  await until("recorded made");

  await s.send("again");
  diff("turn2", "d.txt");
  await until("recorded made, running d.txt");
  diff("turn2");
  await editor.waitUntil(() => shown() === "recorded made"); // the patches took each other back
  diff("turn2", "d.txt");
  await until("recorded made, running d.txt");
  await complete("turn2");
  await until("recorded made, unrecorded d.txt"); // there is no snapshot
  assert.deepEqual(all, [["a.txt", "b.txt", "c.txt"], ["d.txt"]]);
});

test("a steer that comes too late, a review and a compaction have a snapshot of their own", async () => {
  const server = codex({
    "turn/steer": () => {
      throw new Error("no active turn to steer");
    },
    "review/start": () => ({ turn: { id: "turn2" } }),
    "thread/compact/start": () => ({}),
  });
  const snapshots: string[] = [];
  const { session: s } = session([server], undefined, {
    beforeTurn: (_, text) => {
      snapshots.push(text);
      return Promise.resolve("");
    },
  });
  await s.send("hello");
  await s.send("too late");
  assert.equal(server.sent("turn/start").length, 2);
  await s.startTurn("review/start", {});
  await s.startTurn("thread/compact/start", {});
  assert.deepEqual(snapshots, ["hello", "too late", "Review", "Compaction"]);
});

for (const [name, leave] of [
  ["a new thread", (s: Session) => s.newThread()],
  ["another thread", (s: Session) => s.resume("t2")],
  ["the end of the program", (s: Session) => s.close()],
] as const) {
  test(`${name} during a turn ends its changes with a snapshot`, async () => {
    const server = codex({ "thread/resume": () => threadResponse("t2"), "turn/interrupt": () => ({}) });
    const calls: string[] = [];
    const { session: s } = session([server], undefined, {
      beforeTurn: () => Promise.resolve(""),
      turnBegan: (thread, turn) => void calls.push(`began ${thread} ${turn}`),
      afterTurn: (thread, turn) => {
        calls.push(`after ${thread} ${turn}`);
        return Promise.resolve(undefined);
      },
    });
    await s.send("hello");
    await leave(s);
    assert.deepEqual(calls, ["began t1 turn1", "after t1 turn1"]);
  });
}
