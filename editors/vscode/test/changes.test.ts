// The changes of a turn, with a real git and a fake VS Code.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Checkpoint } from "../src/core/checkpoint";
import type { ChangesEntry } from "../src/core/entry";
import { DiskFiles } from "../src/core/fileState";
import { TurnChanges } from "../src/editor/changes";
import { calls, EndOfLine, Position, type Range, state, Uri, workspace } from "./fakeVscode";
import { tempFolder } from "./tempFolder";

beforeEach(() => {
  calls.length = 0;
  Object.assign(state, { picks: [], answer: undefined, button: undefined });
  workspace.textDocuments = [];
});

/** An open document with unsaved text. Its positions are offsets in line 0. */
class Unsaved {
  readonly isDirty = true;
  readonly uri: Uri;
  readonly eol = EndOfLine.LF;
  readonly edits: string[] = [];
  constructor(path: string, public text: string) {
    this.uri = Uri.file(path);
  }
  getText = (): string => this.text;
  positionAt = (offset: number): Position => new Position(0, offset);
  apply(range: Range, text: string): void {
    this.edits.push(text);
    this.text = this.text.slice(0, range.start.character) + text + this.text.slice(range.end.character);
  }
}

const lines = (changed: { [line: number]: string } = {}): string => Array.from({ length: 20 }, (_, i) => `${changed[i + 1] ?? `line ${i + 1}`}\n`).join("");

async function newTurn(): Promise<{ root: string; changes: TurnChanges; card(): ChangesEntry; running: { now: boolean }; read(path: string): string }> {
  const root = tempFolder();
  const running = { now: false };
  let shown: ChangesEntry | undefined;
  const host = { isRunning: () => running.now, update: (_: string, entry: ChangesEntry) => void (shown = entry) };
  const changes = new TurnChanges(host, tempFolder());
  writeFileSync(join(root, "a.txt"), lines());
  assert.equal(await changes.beforeTurn(root, "thread", "Change it"), "");
  writeFileSync(join(root, "a.txt"), lines({ 3: "codex 3", 15: "codex 15" }));
  writeFileSync(join(root, "new.bin"), Buffer.from([0, 1]));
  shown = await changes.afterTurn("thread", "turn");
  return { root, changes, card: () => shown!, running, read: (path) => readFileSync(join(root, path), "utf8") };
}

test("the card has the files of a turn; a file is kept or undone", async () => {
  const { root, changes, card, read } = await newTurn();
  assert.deepEqual(card().files, [
    { path: "a.txt", kind: "update", added: 2, removed: 2, note: "", hunks: 2, parts: [], state: "" },
    { path: "new.bin", kind: "add", added: 0, removed: 0, note: "0 bytes → 2 bytes", hunks: 0, parts: [], state: "" },
  ]);
  await changes.act(card().id, 0, "keep");
  assert.equal(read("a.txt"), lines({ 3: "codex 3", 15: "codex 15" }));
  await changes.act(card().id, 1, "undo");
  assert.equal(existsSync(join(root, "new.bin")), false);
  assert.deepEqual(card().files.map((file) => file.state), ["kept", "undone"]);
});

test("a hunk is undone in the unsaved editor, and the file on the disk stays", async () => {
  const { root, changes, card, read } = await newTurn();
  const document = new Unsaved(join(root, "a.txt"), lines({ 3: "codex 3", 9: "mine 9", 15: "codex 15" }));
  workspace.textDocuments = [document];
  await changes.act(card().id, 0, "undo", 1);
  assert.equal(document.text, lines({ 3: "codex 3", 9: "mine 9" }));
  assert.deepEqual(document.edits, ["line 15\n"], "only the lines that differ");
  assert.equal(read("a.txt"), lines({ 3: "codex 3", 15: "codex 15" }));
  assert.equal(card().files[0]!.state, "", "the other hunk is still there");
});

test("a conflict writes nothing, and names the file", async () => {
  const { root, changes, card, read } = await newTurn();
  writeFileSync(join(root, "a.txt"), lines({ 3: "mine", 15: "codex 15" }));
  await changes.act(card().id, 0, "undo");
  assert.equal(read("a.txt"), lines({ 3: "mine", 15: "codex 15" }));
  assert.ok(calls.includes("warning | a.txt is not undone: your later edits touch the same lines | Open Diff"), calls.join("\n"));
});

test("a restore shows what it does, asks, and can be undone", async () => {
  const { root, changes, card, read } = await newTurn();
  const edited = lines({ 3: "codex 3", 9: "mine 9", 15: "codex 15" });
  writeFileSync(join(root, "a.txt"), edited);
  state.picks = ["Restore"];
  await changes.act(card().id, -1, "restore");
  assert.equal(read("a.txt"), edited, "the question has no answer");
  assert.ok(calls.includes("pick | Restore: 2 files changed | a.txt: restored, your later edits are kept | new.bin: restored"), calls.join("\n"));
  Object.assign(state, { picks: ["Restore"], answer: "Restore" });
  await changes.act(card().id, -1, "restore");
  assert.equal(read("a.txt"), lines({ 9: "mine 9" }));
  assert.equal(existsSync(join(root, "new.bin")), false);
  assert.deepEqual(card().files.map((file) => file.state), ["undone", "undone"]);
  state.picks = ["Restore"];
  await changes.undoRestore(root);
  assert.equal(read("a.txt"), edited);
  assert.ok(existsSync(join(root, "new.bin")));
  assert.deepEqual(card().files.map((file) => file.state), ["", ""]);
});

test("the undo of a hunk's undo brings back that hunk only", async () => {
  const { root, changes, card, read } = await newTurn();
  await changes.act(card().id, 0, "undo", 0);
  await changes.act(card().id, 0, "undo", 1);
  assert.equal(read("a.txt"), lines());
  assert.equal(card().files[0]!.state, "undone");
  Object.assign(state, { picks: ["Restore"], answer: "Restore" });
  await changes.undoRestore(root);
  assert.equal(read("a.txt"), lines({ 15: "codex 15" }));
  await changes.act(card().id, 0, "hunks");
  assert.deepEqual([card().files[0]!.state, ...states(card())], ["", "undone", ""]);
});

const states = (card: ChangesEntry): string[] => card.files[0]!.parts.map((part) => part.state);

test("a file is unfolded to its hunks, which are kept or undone one by one", async () => {
  const { changes, card, read } = await newTurn();
  assert.deepEqual(card().files[0]!.parts, []);
  await changes.act(card().id, 0, "hunks");
  assert.deepEqual(card().files[0]!.parts, [
    { title: "Line 3: −1 +1", lines: ["-line 3", "+codex 3"], more: 0, state: "" },
    { title: "Line 15: −1 +1", lines: ["-line 15", "+codex 15"], more: 0, state: "" },
  ]);
  await changes.act(card().id, 0, "keep", 0);
  assert.deepEqual([card().files[0]!.state, ...states(card())], ["", "kept", ""]);
  await changes.act(card().id, 0, "undo", 1);
  assert.deepEqual([card().files[0]!.state, ...states(card())], ["kept", "kept", "undone"], "the last hunk decides about the file");
  assert.equal(read("a.txt"), lines({ 3: "codex 3" }));
  const before = calls.length;
  await changes.act(card().id, 0, "undo", 7);
  await changes.act(card().id, 0, "undo", 1);
  assert.deepEqual([calls.length, read("a.txt")], [before, lines({ 3: "codex 3" })], "a hunk that is not there, and one that is undone");
});

test("the user's edits between the undos of hunks stay, and a hunk on the same lines is not undone", async () => {
  const { root, changes, card, read } = await newTurn();
  await changes.act(card().id, 0, "hunks");
  writeFileSync(join(root, "a.txt"), lines({ 3: "codex 3", 9: "mine 9", 15: "mine 15" }));
  await changes.act(card().id, 0, "undo", 1);
  assert.equal(read("a.txt"), lines({ 3: "codex 3", 9: "mine 9", 15: "mine 15" }));
  assert.ok(calls.includes("warning | a.txt is not undone: your later edits touch the same lines | Open Diff"), calls.join("\n"));
  assert.deepEqual(states(card()), ["", ""]);
  await changes.act(card().id, 0, "undo", 0);
  assert.equal(read("a.txt"), lines({ 9: "mine 9", 15: "mine 15" }));
  assert.deepEqual(states(card()), ["undone", ""]);
});

test("hunks that are undone at once are all undone", async () => {
  const { root, changes, card, read } = await newTurn();
  writeFileSync(join(root, "a.txt"), lines({ 3: "codex 3", 9: "mine 9", 15: "codex 15" }));
  await Promise.all([changes.act(card().id, 0, "undo", 0), changes.act(card().id, 0, "undo", 1), changes.act(card().id, 0, "undo", 1)]);
  assert.equal(read("a.txt"), lines({ 9: "mine 9" }));
  assert.equal(card().files[0]!.state, "undone");
});

test("many hunks are shown in steps, and a long one in part", async () => {
  const { root, changes } = await newTurn();
  const every = (mark: string): string => Array.from({ length: 180 }, (_, i) => `${i % 3 === 0 ? mark : "line"} ${i}\n`).join("");
  writeFileSync(join(root, "many.txt"), every("old"));
  await changes.beforeTurn(root, "thread", "many");
  writeFileSync(join(root, "many.txt"), every("new"));
  writeFileSync(join(root, "long.txt"), "x\n".repeat(100));
  const entry = (await changes.afterTurn("thread", "many"))!;
  const parts = (index: number): number => shown(changes, entry.id).files[index]!.parts.length;
  await changes.act(entry.id, 1, "hunks");
  assert.equal(parts(1), 50);
  await changes.act(entry.id, 1, "hunks");
  assert.equal(parts(1), 60);
  await changes.act(entry.id, 0, "hunks");
  const [long] = shown(changes, entry.id).files[0]!.parts;
  assert.deepEqual([long!.lines.length, long!.more], [40, 60]);
});

const shown = (changes: TurnChanges, id: string): ChangesEntry => (changes as unknown as { turns: Map<string, { entry: ChangesEntry }> }).turns.get(id)!.entry;

test("all changes of a turn are one editor: the snapshot on the left, the file itself on the right while it is as after the turn", async () => {
  const { root, changes, card } = await newTurn();
  const resources = (): string[][] => {
    const line = calls.findLast((one) => one.startsWith("command vscode.changes "))!;
    assert.match(line, /^command vscode\.changes "Changes of “Change it”" /);
    return (JSON.parse(line.slice(line.indexOf("["))) as (Uri | null)[][]).map((uris) => uris.map((uri) => (uri ? `${uri.scheme} ${uri.fsPath.slice(root.length + 1)}` : "none")));
  };
  const content = (side: number): string => {
    const uris = JSON.parse(calls.at(-1)!.slice(calls.at(-1)!.indexOf("["))) as Uri[][];
    return (changes as unknown as { diffs: { provideTextDocumentContent(uri: Uri): string } }).diffs.provideTextDocumentContent(uris[0]![side]!);
  };
  await changes.act(card().id, -1, "all");
  assert.deepEqual(resources(), [["file a.txt", "codex-bridge-change a.txt", "file a.txt"], ["file new.bin", "none", "file new.bin"]]);
  assert.equal(content(1), lines());
  writeFileSync(join(root, "a.txt"), "mine");
  workspace.textDocuments = [new Unsaved(join(root, "new.bin"), "mine")];
  await changes.showLast(root, "thread");
  assert.deepEqual(resources(), [["file a.txt", "codex-bridge-change a.txt", "codex-bridge-change a.txt"], ["file new.bin", "none", "codex-bridge-change new.bin"]]);
  assert.deepEqual([content(1), content(2)], [lines(), lines({ 3: "codex 3", 15: "codex 15" })]);
  await changes.showLast(root, "another thread");
  assert.ok(calls.includes("information | This thread has no restore points."));
});

test("the contents of older turns are read again", async () => {
  const { root, changes, card, read } = await newTurn();
  const first = card();
  for (const name of ["b", "c", "d", "e"]) {
    await changes.beforeTurn(root, "thread", name);
    writeFileSync(join(root, `${name}.txt`), name);
    await changes.afterTurn("thread", name);
  }
  await changes.act(first.id, 0, "undo", 1);
  assert.equal(read("a.txt"), lines({ 3: "codex 3" }));
});

test("a turn that changed only what is not covered has a card, and that of one that changed nothing is empty", async () => {
  const root = tempFolder();
  const changes = new TurnChanges({ isRunning: () => false, update: () => undefined }, tempFolder());
  await changes.beforeTurn(root, "thread", "one");
  writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff])]), "");
  const entry = await changes.afterTurn("thread", "one");
  assert.deepEqual([entry?.files, entry?.uncovered.length], [[], 1]);
  await changes.beforeTurn(root, "thread", "two");
  const none = await changes.afterTurn("thread", "two");
  assert.deepEqual([none?.files, none?.uncovered], [[], []]);
});

test("the patched files that no snapshot has are named", async () => {
  const root = tempFolder();
  const changes = new TurnChanges({ isRunning: () => false, update: () => undefined }, tempFolder());
  writeFileSync(join(root, ".gitignore"), "*.log\n");
  const turn = async (id: string, ...files: string[]): Promise<(string[] | undefined)[]> => {
    await changes.beforeTurn(root, "thread", id);
    for (const name of files) writeFileSync(join(root, name), id);
    const entry = await changes.afterTurn("thread", id, ["made.txt", "old.log", "gone.txt", "../up.txt", "/elsewhere/x.txt"]);
    return [entry?.files.map((file) => file.path), entry?.uncovered];
  };
  assert.deepEqual(await turn("one", "made.txt", "old.log"), [["made.txt"], ["../up.txt", "/elsewhere/x.txt", "old.log"]]);
  assert.deepEqual(await turn("two"), [[], ["../up.txt", "/elsewhere/x.txt", "old.log"]], "also if nothing else changed");
});

test("each folder of the window has its own changes and undos", async () => {
  const [one, two] = [tempFolder(), tempFolder()];
  const changes = new TurnChanges({ isRunning: () => false, update: () => undefined }, tempFolder());
  const turn = async (root: string): Promise<ChangesEntry> => {
    writeFileSync(join(root, "a.txt"), "old\n");
    await changes.beforeTurn(root, root, "Change it");
    writeFileSync(join(root, "a.txt"), "codex\n");
    return (await changes.afterTurn(root, root))!;
  };
  const [, second] = [await turn(one), await turn(two)];
  const texts = (): string[] => [one, two].map((root) => readFileSync(join(root, "a.txt"), "utf8"));
  await changes.act(second.id, 0, "undo");
  assert.deepEqual(texts(), ["codex\n", "old\n"]);
  await changes.undoRestore(one);
  assert.ok(calls.includes("information | There is no undo or restore to undo."));
  Object.assign(state, { picks: ["Restore"], answer: "Restore" });
  await changes.undoRestore(two);
  assert.deepEqual(texts(), ["codex\n", "codex\n"]);
  Object.assign(state, { picks: ["Change it", "Restore"] });
  await changes.restore(one, one);
  assert.deepEqual(texts(), ["old\n", "codex\n"]);
});

test("a turn that the window leaves is recorded when it begins", async () => {
  const root = tempFolder();
  const parent = tempFolder();
  const changes = new TurnChanges({ isRunning: () => false, update: () => undefined }, parent);
  await changes.beforeTurn(root, "thread", "one");
  await changes.began("thread", "turn");
  const [store] = readdirSync(parent);
  const refs = execFileSync("git", ["for-each-ref", "--format=%(refname)"], { env: { ...process.env, GIT_DIR: join(parent, store!) } }).toString();
  assert.match(refs, /^refs\/turns\/thread\/turn\/before$/m);
});

async function until(condition: () => boolean): Promise<void> {
  for (const end = Date.now() + 60_000; !condition(); await sleep(10)) assert.ok(Date.now() < end, calls.join("\n"));
}

/** Leaves a restore of a.txt and b.txt incomplete, as a closed window does. b.txt is not restored. */
async function leaveRestore(): Promise<{ root: string; parent: string; texts(): string[] }> {
  const root = tempFolder();
  const parent = tempFolder();
  const names = ["a.txt", "b.txt"].map((name) => join(root, name));
  const write = (text: string): void => names.forEach((name) => writeFileSync(name, text));
  await new Promise<void>((done, failed) => {
    const disk = new DiskFiles(root);
    const stop = (): Promise<void> => {
      done();
      return new Promise(() => undefined);
    };
    const store = new Checkpoint(root, parent, () => ({ read: (path) => disk.read(path), write: (path, ...rest) => (path === "b.txt" ? stop() : disk.write(path, ...rest)) }), `${process.pid} 1`);
    const work = async (): Promise<void> => {
      write(lines());
      const before = await store.before("");
      write(lines({ 3: "codex 3" }));
      await store.apply(await store.planRecords([await store.after("thread", "turn", before)]));
    };
    work().catch(failed);
  });
  return { root, parent, texts: () => names.map((name) => readFileSync(name, "utf8")) };
}

const incomplete = "warning | VS Code was closed while it restored files. Restored: a.txt. Not restored, or edited since: b.txt. | Finish It | Take It Back | Leave the Files";
const codexLines = lines({ 3: "codex 3" });

for (const [button, want, title] of [
  ["Finish It", [lines(), lines()], "Finish the Restore"],
  ["Take It Back", [codexLines, codexLines], "Undo the Restore"],
] as const) {
  test(`the next window asks about an incomplete restore: ${button}`, async () => {
    const { root, parent, texts } = await leaveRestore();
    Object.assign(state, { picks: ["Restore"], answer: "Restore", button });
    const changes = new TurnChanges({ isRunning: () => false, update: () => undefined }, parent);
    await changes.warm(root);
    await until(() => calls.includes("information | Restored: 1; not restored: 0."));
    assert.equal(calls[0], incomplete);
    assert.ok(calls.includes(`warning | ${title} | Restore`), calls.join("\n"));
    assert.deepEqual(texts(), want);
    calls.length = 0;
    await new TurnChanges({ isRunning: () => false, update: () => undefined }, parent).warm(root);
    assert.deepEqual(calls, []);
  });
}

test("an incomplete restore without an answer comes before the last undo, and its files can stay", async () => {
  const { root, parent, texts } = await leaveRestore();
  const changes = new TurnChanges({ isRunning: () => false, update: () => undefined }, parent);
  await changes.warm(root);
  assert.deepEqual(calls, [incomplete]);
  state.picks = ["Leave the Files"];
  await changes.undoRestore(root);
  assert.deepEqual(calls.slice(1), ["pick | Finish It | Take It Back | Leave the Files", "information | The files stay as they are."]);
  assert.deepEqual(texts(), [lines(), codexLines]);
  Object.assign(state, { picks: ["Restore"], answer: "Restore" });
  await changes.undoRestore(root);
  assert.deepEqual(texts(), [codexLines, codexLines], "it is an undo as others");
});

test("nothing is undone while a turn runs", async () => {
  const { changes, card, running, read } = await newTurn();
  running.now = true;
  await changes.act(card().id, 0, "undo");
  await changes.act(card().id, -1, "restore");
  assert.deepEqual(calls, Array(2).fill("warning | A turn is running: wait for its end, or stop it."));
  assert.equal(read("a.txt"), lines({ 3: "codex 3", 15: "codex 15" }));
});

test("a turn without a restore point says why, once in each thread", async () => {
  const changes = new TurnChanges({ isRunning: () => false, update: () => undefined }, tempFolder());
  assert.equal(await changes.beforeTurn("/", "thread", "one"), "snapshots of a home folder are too large");
  assert.equal(await changes.afterTurn("thread", "turn"), undefined);
  assert.equal(await changes.beforeTurn("/", "thread", "two"), "");
  assert.equal(await changes.beforeTurn("/", "another thread", "three"), "snapshots of a home folder are too large");
});
