// Turns and restores of a window that was closed meanwhile.
import assert from "node:assert/strict";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Checkpoint } from "../src/core/checkpoint";
import { DiskFiles, type Files } from "../src/core/fileState";
import { ownId, temporaryPrefix } from "../src/core/owner";
import type { Record } from "../src/core/turnRecord";
import { closed, type Folder, newFolder, numbered, openAgain } from "./checkpointFolder";

/** Returns the files of a folder. write replaces the writes of some paths. */
function filesWith(root: string, write: (path: string) => Promise<void> | undefined): Files {
  const disk = new DiskFiles(root);
  return { read: (path) => disk.read(path), write: (path, ...rest) => write(path) ?? disk.write(path, ...rest) };
}

/** Restores a record in a window that is closed at the write of a file. */
async function closeDuringRestore({ root, parent }: Folder, record: Record, at: string, owner = closed): Promise<void> {
  await new Promise<void>((done, failed) => {
    const never = (): Promise<void> => {
      done();
      return new Promise(() => undefined);
    };
    const store = new Checkpoint(root, parent, (real) => filesWith(real, (path) => (path === at ? never() : undefined)), owner);
    store.planRecords([record]).then((plans) => store.apply(plans)).catch(failed);
  });
}
const withLines = (count: number, lines: { [line: number]: string }): string => Array.from({ length: count }, (_, i) => `${lines[i + 1] ?? `line ${i + 1}`}\n`).join("");

for (const isFinished of [true, false]) {
  test(`a restore of a closed window is ${isFinished ? "finished" : "taken back"}, and the user's edits stay`, async () => {
    const folder = newFolder();
    const { root, write, read, turn } = folder;
    const text = (...lines: { [line: number]: string }[]): string => withLines(40, Object.assign({}, ...lines));
    const [codex, mine] = [{ 10: "codex" }, { 30: "mine" }];
    for (const name of ["a", "b", "c", "d"]) write(name, text());
    write("gone", "gone\n");
    const record = await turn(() => {
      for (const name of ["a", "b", "c", "d"]) write(name, text(codex));
      rmSync(join(root, "gone"));
      write("made", "made\n");
    });
    await closeDuringRestore(folder, record, "b");
    const temporary = temporaryPrefix(closed) + "0123456789ab";
    write(temporary, "half");
    assert.deepEqual([read("a"), read("b"), existsSync(join(root, "made"))], [text(), text(codex), false]);
    write("a", text(mine));
    write("b", text(codex, mine));
    write("d", text({ 10: "mine" }));
    write("other", "mine\n");

    const store = openAgain(folder);
    assert.deepEqual(await store.undos(), []);
    const [left, ...more] = await store.warm();
    assert.deepEqual([left!.written, left!.missing, more], [["made"], ["a", "b", "c", "d", "gone"], []]);
    assert.equal(existsSync(join(root, temporary)), false);
    const undone = { a: text(mine), b: text(mine), c: text(), d: text({ 10: "mine" }), gone: "gone\n", other: "mine\n" };
    const done = { a: text(codex, mine), b: text(codex, mine), c: text(codex), d: text({ 10: "mine" }), made: "made\n", other: "mine\n" };
    const all = (): object => Object.fromEntries(readdirSync(root).map((name) => [name, read(name)]));
    const plans = isFinished ? await store.planFinish(left!.record) : await store.planRecords([left!.record]);
    assert.equal(plans.plans.find(({ path }) => path === "d")!.verdict, "conflict");
    if (isFinished) {
      await store.finish(plans, left!.record);
      assert.deepEqual(all(), undone);
      const undos = await store.undos();
      assert.deepEqual(undos.map(({ ref }) => ref), [left!.record.ref], "it is one restore");
      await store.apply(await store.planRecords(undos), undos[0]);
    } else {
      await store.apply(plans, left!.record);
    }
    assert.deepEqual(all(), done);
    assert.deepEqual(await store.interrupted(), []);
  });
}

test("the files of an interrupted restore can stay, and a restore that is being written is not interrupted", async () => {
  const folder = newFolder();
  const { write, read, turn } = folder;
  write("a.txt", "old\n");
  const record = await turn(() => write("a.txt", "codex\n"));
  await closeDuringRestore(folder, record, "a.txt");
  const store = openAgain(folder);
  const [left] = await store.interrupted();
  await store.settle(left!.record);
  assert.deepEqual([(await store.interrupted()).length, (await store.undos()).length, read("a.txt")], [0, 1, "codex\n"]);
  await closeDuringRestore(folder, record, "a.txt", ownId);
  assert.deepEqual([(await store.interrupted()).length, (await store.undos()).length], [0, 1]);
});

test("the record of a restore has only what it wrote", async () => {
  const { root, parent, write, read, turn } = newFolder();
  for (const name of ["a.txt", "b.txt", "c.txt"]) write(name, "old\n");
  const record = await turn(() => ["a.txt", "b.txt"].forEach((name) => write(name, "codex\n")));
  const store = new Checkpoint(root, parent, (real) => filesWith(real, (path) => {
    write("c.txt", "of another program\n");
    return path === "b.txt" ? Promise.reject(new Error("refused")) : undefined;
  }));
  const undo = await store.apply(await store.planRecords([record]));
  assert.deepEqual((await store.changes(undo!)).files.map(({ path }) => path), ["a.txt"]);
  assert.deepEqual([read("a.txt"), read("b.txt")], ["old\n", "codex\n"]);
  const none = await store.apply(await store.planRecords([record])); // only b.txt, which is refused again
  assert.deepEqual([none, (await store.undos()).length], [undefined, 1]);
});

test("no snapshot has a temporary file", async () => {
  const { store, write, turn } = newFolder();
  write(".gitignore", "!*\n!.*\n");
  const record = await turn(() => ["", "sub/"].forEach((folder) => write(`${folder}${temporaryPrefix(closed)}0123456789ab`, "half")));
  assert.deepEqual((await store.changes(record)).files, []);
});

test("a turn of a closed window is ended by the next one, and its changes are undone", async () => {
  const { root, store, parent, write, read } = newFolder();
  write("a.txt", numbered(9));
  const before = await store.before("a message");
  await store.begin("thread", "turn", before);
  write("a.txt", numbered(9).replace("line 5", "codex 5"));
  const other = new Checkpoint(root, parent, (real) => new DiskFiles(real));
  await other.warm();
  assert.deepEqual(await other.turns("thread"), [], "this window may still run the turn");
  const snapshots = store["snapshots"];
  const meta = { ...(await snapshots.meta(before)), owner: closed };
  await store.begin("thread", "turn", await snapshots.overlay(before, new Map(), meta));
  await other.warm();
  const [record] = await other.turns("thread");
  assert.deepEqual([record!.text, record!.unfinished], ["a message", true]);
  await other.apply(await other.planRecords([record!]));
  assert.equal(read("a.txt"), numbered(9));
});

test("a turn that its own window ends meanwhile keeps that end", async () => {
  const { root, store, parent, write } = newFolder();
  write("a.txt", "old\n");
  const before = await store.before("a message");
  const snapshots = store["snapshots"];
  await store.begin("thread", "turn", await snapshots.overlay(before, new Map(), { ...(await snapshots.meta(before)), owner: closed }));
  write("a.txt", "codex\n");
  const other = new Checkpoint(root, parent, (real) => new DiskFiles(real));
  const others = other["snapshots"];
  const overlay = others.overlay.bind(others);
  const ends: Record[] = [];
  others.overlay = async (...args) => {
    if (ends.length === 0) ends.push(await store.after("thread", "turn", before));
    write("a.txt", "later\n");
    return overlay(...args);
  };
  await other.warm();
  const [record] = await other.turns("thread");
  assert.deepEqual([record!.after, record!.unfinished], [ends[0]!.after, false]);
});
