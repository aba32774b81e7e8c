// Restores of files that the user has changed, too.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Checkpoint } from "../src/core/checkpoint";
import { DiskFiles, type State } from "../src/core/fileState";
import { newFolder, numbered, tree, verdicts } from "./checkpointFolder";
import { tempFolder } from "./tempFolder";

for (const [where, edit, want] of [
  ["before", ["line 1\n", "mine 1\n"], "merged"],
  ["after", ["line 30\n", "mine 30\n"], "merged"],
  ["inside", ["codex 15\n", "mine 15\n"], "conflict"],
] as const) {
  test(`an edit of the user ${where} a changed hunk: ${want}`, async () => {
    const { store, write, read, turn } = newFolder();
    write("a.txt", numbered(30));
    const record = await turn(() => write("a.txt", numbered(30).replace("line 15\n", "codex 15\n")));
    const edited = read("a.txt").replace(edit[0], edit[1]);
    write("a.txt", edited);
    const plans = await store.planRecords([record]);
    assert.deepEqual(verdicts(plans), [`a.txt: ${want}`]);
    await store.apply(plans);
    assert.equal(read("a.txt"), want === "merged" ? numbered(30).replace(edit[0], edit[1]) : edited);
  });
}

test("hunks are undone one by one, in any order, also next to each other", async () => {
  const { store, write, read, turn } = newFolder();
  write("a.txt", numbered(30));
  const record = await turn(() => write("a.txt", numbered(30).replace("line 3\n", "").replace("line 5\n", "codex 5\n").replace("line 29\n", "line 29\nadded\n")));
  const [file] = (await store.changes(record)).files;
  assert.deepEqual(file!.hunks!.map(({ removed, added }) => [removed, added]), [[1, 0], [1, 1], [0, 1]]);
  for (const [hunk, want] of [[1, ["codex 5\n", "line 5\n"]], [0, ["line 4\n", "line 3\nline 4\n"]], [2, ["added\n", ""]]] as const) {
    const expected = read("a.txt").replace(want[0], want[1]);
    await store.apply(await store.planFile(record, file!, hunk));
    file!.undone.add(hunk);
    assert.equal(read("a.txt"), expected);
  }
  assert.equal(read("a.txt"), numbered(30));
});

test("a restore over several turns goes back to before the first one, and keeps what the user did between them", async () => {
  const { store, write, read, turn } = newFolder();
  write("a.txt", numbered(40));
  const first = await turn(() => write("a.txt", read("a.txt").replace("line 5\n", "one 5\n")), "t1");
  write("a.txt", read("a.txt").replace("line 20\n", "mine 20\n"));
  write("mine.txt", "only mine\n");
  const second = await turn(() => write("a.txt", read("a.txt").replace("line 35\n", "two 35\n")), "t2");
  const plans = await store.planRecords([first, second]);
  assert.deepEqual(verdicts(plans), ["a.txt: merged"]);
  await store.apply(plans);
  assert.equal(read("a.txt"), numbered(40).replace("line 20\n", "mine 20\n"));
  assert.equal(read("mine.txt"), "only mine\n");
});

test("what the user saved during the turn stays; the same lines are a conflict", async () => {
  const { store, write, read } = newFolder();
  const old = numbered(30);
  write("a.txt", old);
  write("b.txt", old);
  const before = await store.before("");
  const [mine, codex] = [(text: string) => text.replace("line 2\n", "mine 2\n"), (text: string) => text.replace("line 20\n", "codex 20\n")];
  write("a.txt", codex(mine(old)));
  write("b.txt", "mine over codex\n");
  const record = await store.after("thread", "turn", before, [
    { path: "a.txt", before: Buffer.from(codex(old)), after: Buffer.from(codex(mine(old))) },
    { path: "b.txt", before: Buffer.from("codex\n"), after: Buffer.from("mine over codex\n") },
  ]);
  assert.deepEqual(record.saved, ["a.txt", "b.txt"]);
  const plans = await store.planRecords([record]);
  assert.deepEqual(verdicts(plans), ["a.txt: restored", "b.txt: conflict"]);
  await store.apply(plans);
  assert.equal(read("a.txt"), mine(old));
  assert.equal(read("b.txt"), "mine over codex\n");
});

test("a file that changes after the plan, a folder, and a link out of the root are not written", async () => {
  const { root, store, write, read, turn } = newFolder();
  const outside = tempFolder();
  for (const path of ["late.txt", "folder", "dir/file"]) write(path, "old\n");
  const record = await turn(() => ["late.txt", "folder", "dir/file"].forEach((path) => write(path, "codex\n")));
  rmSync(join(root, "folder"));
  mkdirSync(join(root, "folder"));
  const plans = await store.planRecords([record]);
  assert.deepEqual(verdicts(plans), ["dir/file: restored", "folder: conflict", "late.txt: restored"]);
  write("late.txt", "mine\n");
  rmSync(join(root, "dir"), { recursive: true });
  symlinkSync(outside, join(root, "dir"));
  writeFileSync(join(outside, "file"), "codex\n");
  await store.apply(plans);
  assert.deepEqual(verdicts(plans), ["dir/file: refused", "folder: conflict", "late.txt: refused"]);
  assert.equal(read("late.txt"), "mine\n");
  assert.equal(readFileSync(join(outside, "file"), "utf8"), "codex\n");
});

test("an unsaved text is what is merged, and what the undo of the undo brings back", async () => {
  const { root, parent, write } = newFolder();
  const disk = new DiskFiles(root);
  let buffer = "";
  const files = {
    read: async (path: string): Promise<State> => (buffer ? { ...(await disk.read(path)), data: Buffer.from(buffer), unsaved: true } : disk.read(path)),
    write: async (_: string, __: State, target: State): Promise<void> => void (buffer = target.data.toString()),
  };
  const store = new Checkpoint(root, parent, () => files);
  write("a.txt", numbered(20));
  const before = await store.before("");
  const codex = numbered(20).replace("line 3\n", "codex 3\n");
  write("a.txt", codex);
  const record = await store.after("thread", "turn", before);
  buffer = codex.replace("line 18\n", "mine 18\n");
  const undo = await store.apply(await store.planRecords([record]));
  assert.equal(buffer, numbered(20).replace("line 18\n", "mine 18\n"));
  await store.apply(await store.planRecords([undo!]), undo);
  assert.equal(buffer, codex.replace("line 18\n", "mine 18\n"));
});

test("random edits that do not overlap are never lost, and an undo without edits is exact", async () => {
  let seed = 20260;
  const random = (below: number): number => (seed = (seed * 48271) % 2147483647) % below;
  for (let round = 0; round < 5; round++) {
    const { root, store, write, turn } = newFolder();
    const lines = Array.from({ length: 60 }, (_, i) => `${i} ${random(1000)}${random(2) ? "\r" : ""}\n`);
    write("a.txt", lines.join(""));
    const before = tree(root);
    // Each block of ten lines belongs to Codex, the user or neither. The lines at its ends do not change.
    const owners = Array.from({ length: 6 }, () => ["codex", "user", "none"][random(3)]!);
    const edit = (names: string[]): string =>
      lines.map((line, i) => {
        const owner = owners[Math.floor(i / 10)]!;
        if (!names.includes(owner) || i % 10 < 3 || i % 10 > 6) return line;
        return [`${owner} ${i}\n`, "", `${line}${owner} ${i}\r\n`][(i * 7 + round) % 3]!;
      }).join("");
    const record = await turn(() => write("a.txt", edit(["codex"])));
    write("a.txt", edit(["codex", "user"]));
    const plans = await store.planRecords([record]);
    assert.ok(plans.plans.every((plan) => plan.verdict !== "conflict"), `round ${round}`);
    const undo = await store.apply(plans);
    assert.equal(readFileSync(join(root, "a.txt"), "latin1"), edit(["user"]), `round ${round}`);
    if (undo) await store.apply(await store.planRecords([undo]), undo);
    assert.equal(readFileSync(join(root, "a.txt"), "latin1"), edit(["codex", "user"]));
    write("a.txt", edit(["codex"]));
    await store.apply(await store.planRecords([record]));
    assert.deepEqual(tree(root), before);
  }
});
