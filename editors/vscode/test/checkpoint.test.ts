// The store of checkpoints, with a real git.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { Checkpoint } from "../src/core/checkpoint";
import { excludes } from "../src/core/ignore";
import { DiskFiles, type Files, type State } from "../src/core/fileState";
import { ownId, temporaryPrefix } from "../src/core/owner";
import type { Plans, Record } from "../src/core/turnRecord";
import { tempFolder } from "./tempFolder";

interface Folder {
  root: string;
  store: Checkpoint;
  parent: string;
  write(path: string, data: string | Buffer): void;
  read(path: string): string;
  /** Runs a turn that changes files, and records it. */
  turn(change: () => void, id?: string): Promise<Record>;
}

function newFolder(above?: string): Folder {
  const root = tempFolder(above);
  const parent = join(tempFolder(above), "checkpoints");
  const store = new Checkpoint(root, parent, (real) => new DiskFiles(real));
  return {
    root, store, parent,
    write: (path, data) => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), data);
    },
    read: (path) => readFileSync(join(root, path), "latin1"),
    turn: async (change, id = "turn") => {
      const before = await store.before("a message\nsecond line");
      change();
      return store.after("thread", id, before);
    },
  };
}

/** Returns all that is below a folder, byte by byte. */
function tree(root: string): string[] {
  const walk = (folder: string): string[] =>
    readdirSync(join(root, folder)).sort().flatMap((name) => {
      const path = join(folder, name);
      const info = lstatSync(join(root, path));
      if (info.isSymbolicLink()) return [`${path} -> ${readlinkSync(join(root, path))}`];
      if (info.isDirectory()) return [`${path}/`, ...walk(path)];
      return [`${path} ${info.mode & 0o777} ${readFileSync(join(root, path)).toString("hex")}`];
    });
  return walk("");
}

const verdicts = ({ plans }: Plans): string[] => plans.map((plan) => `${plan.path}: ${plan.verdict}`);
const numbered = (count: number): string => Array.from({ length: count }, (_, i) => `line ${i + 1}\n`).join("");

test("a restore brings back bytes, modes, links, deleted and created files, and its undo the state before", async () => {
  const { root, store, write, turn } = newFolder();
  write("crlf.txt", "a\r\nb\r\n");
  write("bytes.bin", Buffer.from([0, 255, 13, 10, 254]));
  write("tool.sh", "#!/bin/sh\n");
  chmodSync(join(root, "tool.sh"), 0o755);
  write("gone/deep/file", "no newline at the end");
  symlinkSync("crlf.txt", join(root, "link"));
  mkdirSync(join(root, "empty"));
  const before = tree(root);
  const record = await turn(() => {
    write("crlf.txt", "a\nb\n");
    write("bytes.bin", Buffer.from([1, 0]));
    chmodSync(join(root, "tool.sh"), 0o644);
    rmSync(join(root, "gone"), { recursive: true });
    rmSync(join(root, "link"));
    symlinkSync("/etc/passwd", join(root, "link"));
    write("new/dir/file", "new\n");
    write("empty/file", "new\n");
  });
  const after = tree(root);
  const { files } = await store.changes(record);
  assert.deepEqual(files.map((file) => file.path), ["bytes.bin", "crlf.txt", "empty/file", "gone/deep/file", "link", "new/dir/file", "tool.sh"]);
  const plans = await store.planRecords([record]);
  assert.ok(plans.plans.every((plan) => plan.verdict === "restored"), verdicts(plans).join());
  assert.deepEqual(tree(root), after, "a plan writes nothing");
  const undo = await store.apply(plans);
  assert.deepEqual(tree(root), before);
  await store.apply(await store.planRecords([undo!]), undo);
  assert.deepEqual(tree(root), after);
  assert.equal((await store.turns("thread"))[0]?.text, "a message");
});

test("deleted files come back with their permissions, whatever the umask, also after a restart", async () => {
  const folder = newFolder();
  const { root, store, write, turn } = folder;
  const modes: { [name: string]: number } = { plain: 0o664, "also plain": 0o664, secret: 0o600, "read-only": 0o444, tool: 0o775, "own tool": 0o700, "sub/secret": 0o640 };
  const path = (name: string): string => join(root, name);
  for (const [name, mode] of Object.entries(modes)) {
    write(name, `${name}\n`);
    chmodSync(path(name), mode);
  }
  const found = (): object => Object.fromEntries(Object.keys(modes).map((name) => [name, statSync(path(name)).mode & 0o777]));
  const record = await turn(() => {
    for (const name of Object.keys(modes)) rmSync(path(name));
    write("new", "new\n");
    chmodSync(path("new"), 0o640);
  });
  const umask = process.umask(0o077);
  try {
    await store.apply(await store.planRecords([record]));
    assert.deepEqual(found(), modes);
    const next = openAgain(folder);
    const [undo] = await next.undos();
    const again = await next.apply(await next.planRecords([undo!]), undo);
    assert.equal(statSync(path("new")).mode & 0o777, 0o640);
    await next.apply(await next.planRecords([again!]), again);
    assert.deepEqual(found(), modes);
  } finally {
    process.umask(umask);
  }
});

test("no program of the workspace's configuration runs, and no attribute changes bytes", async () => {
  const { root, store, write, turn, parent } = newFolder();
  const mark = join(parent, "..", "ran");
  execFileSync("git", ["init", "-q", root]);
  const run = `touch ${mark}`;
  for (const [name, value] of [["core.fsmonitor", run], ["core.hooksPath", join(root, "hooks")], ["filter.x.clean", `${run}; tr a b`], ["filter.x.smudge", `${run}; tr b a`], ["filter.x.required", "true"], ["diff.x.textconv", run], ["diff.x.command", run], ["merge.x.driver", run], ["alias.ls-files", `!${run}`]] as const) {
    execFileSync("git", ["-C", root, "config", name, value]);
  }
  for (const hook of ["post-index-change", "reference-transaction", "pre-commit"]) {
    write(`hooks/${hook}`, `#!/bin/sh\n${run}\n`);
    chmodSync(join(root, "hooks", hook), 0o755);
  }
  write(".gitattributes", "* text eol=crlf filter=x ident diff=x merge=x\n*.u16 working-tree-encoding=UTF-16\n");
  write("a.txt", "aaa $Id$\r\nmixed\n");
  write("b.u16", "not UTF-16");
  const own = tree(join(root, ".git"));
  const before = tree(root);
  const record = await turn(() => {
    write("a.txt", "aaa $Id: x$\nmixed\r\n");
    write("b.u16", "other");
  });
  await store.apply(await store.planRecords([record]));
  assert.deepEqual(tree(root), before);
  assert.deepEqual(tree(join(root, ".git")), own, "the user's repository is not touched");
  assert.equal(existsSync(mark), false);
});

test("a folder that became a link to one with the same names comes back", async () => {
  const { root, store, write, turn } = newFolder();
  write("top/dir/file", "old\n");
  const before = tree(root);
  const outside = tempFolder();
  mkdirSync(join(outside, "dir"));
  writeFileSync(join(outside, "dir", "file"), "codex\n");
  const record = await turn(() => {
    rmSync(join(root, "top"), { recursive: true });
    symlinkSync(outside, join(root, "top"));
  });
  await store.apply(await store.planRecords([record]));
  assert.deepEqual(tree(root), before);
  assert.equal(readFileSync(join(outside, "dir", "file"), "utf8"), "codex\n");
});

test("ignored files and nested repositories are not stored, and named", async () => {
  const { root, store, write, turn } = newFolder();
  write(".gitignore", "node_modules/\n*.log\n");
  write("node_modules/big/index.js", "x".repeat(5000));
  write("kept.log", "mine\n");
  write("sub/file", "nested\n");
  execFileSync("git", ["init", "-q", join(root, "sub")]);
  const record = await turn(() => {
    write(".gitignore", "\n"); // what was ignored is there for the first time
    write("node_modules/big/index.js", "changed");
    write("a.txt", "new\n");
  });
  const stored = execFileSync("git", ["--git-dir", store.dir, "ls-tree", "-r", "--name-only", record.before]).toString();
  assert.equal(stored, ".gitignore\n");
  const { files, uncovered } = await store.changes(record);
  assert.deepEqual(files.map((file) => file.path), [".gitignore", "a.txt"]);
  assert.deepEqual(uncovered, ["kept.log", "node_modules/big/index.js", "sub/"]);
  await store.apply(await store.planRecords([record]));
  assert.equal(readFileSync(join(root, "kept.log"), "utf8"), "mine\n");
  assert.equal(readFileSync(join(root, "node_modules/big/index.js"), "utf8"), "changed");
  assert.equal(existsSync(join(root, "a.txt")), false);
});

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

/** Returns the files of a folder. write replaces the writes of some paths. */
function filesWith(root: string, write: (path: string) => Promise<void> | undefined): Files {
  const disk = new DiskFiles(root);
  return { read: (path) => disk.read(path), write: (path, ...rest) => write(path) ?? disk.write(path, ...rest) };
}

/** A process with the id of this one, which ended before it began. */
const closed = `${process.pid} 1`;

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

const openAgain = ({ root, parent }: Folder): Checkpoint => new Checkpoint(root, parent, (real) => new DiskFiles(real));
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

test("the store is private, survives a restart, and forgets old snapshots", async () => {
  const { root, store, parent, write, turn } = newFolder();
  write("a.txt", "old\n");
  await turn(() => write("a.txt", "new\n"));
  assert.equal(statSync(store.dir).mode & 0o777, 0o700);
  await store.close();
  const next = new Checkpoint(root, parent, (real) => new DiskFiles(real));
  assert.equal((await next.turns("thread")).length, 1);
  await next.warm();
  assert.equal((await next.turns("thread")).length, 1);
  await next.warm(Date.now() + 15 * 24 * 3600 * 1000);
  assert.equal((await next.turns("thread")).length, 0);
});

test("several windows create a store at once, and one that is incomplete is created again", async () => {
  const folder = newFolder();
  const { parent, store, write } = folder;
  write("a.txt", "old\n");
  const windows = [store, ...Array.from({ length: 4 }, () => openAgain(folder))];
  await Promise.all(windows.map(async (window, i) => window.begin("thread", `t${i}`, await window.before(""))));
  const refs = execFileSync("git", ["--git-dir", store.dir, "for-each-ref", "--format=%(refname)", "refs/turns"]).toString();
  assert.equal(refs.trim().split("\n").length, windows.length);
  assert.deepEqual(readdirSync(parent), [basename(store.dir)], "nothing is left beside it");
  rmSync(store.dir, { recursive: true });
  mkdirSync(join(store.dir, "info"), { recursive: true });
  const next = openAgain(folder);
  await next.after("thread", "turn", await next.before(""));
  assert.equal((await next.turns("thread")).length, 1);
});

test("many windows, a locked ref and killed programs displace no snapshot, and stop no work", async () => {
  const folder = newFolder();
  const { store, write, turn } = folder;
  write("a.txt", "old\n");
  for (const id of ["t1", "t2"]) await turn(() => write("a.txt", id), id);
  const git = (args: string[], input = ""): string => execFileSync("git", ["--git-dir", store.dir, ...args], { input }).toString().trim();
  const commit = git(["rev-parse", "refs/turns/thread/t2/after"]);
  git(["update-ref", "--stdin"], Array.from({ length: 220 }, (_, i) => `create refs/index/${i} ${commit}\n`).join(""));
  const lock = join(store.dir, "packed-refs.lock");
  writeFileSync(lock, "");
  utimesSync(lock, 1, 1);
  const next = openAgain(folder);
  await next.warm();
  assert.equal(existsSync(lock), false);
  assert.equal((await next.turns("thread")).length, 2);
  writeFileSync(join(store.dir, "refs", "turns", "thread", "t1", "before.lock"), "");
  const { git: program } = next["snapshots"];
  const run = program.try.bind(program);
  program.try = (args, ...rest) => (args[0] === "gc" ? new Promise(() => undefined) : run(args, ...rest)); // the next step does not wait for it
  await next.warm(Date.now() + 15 * 24 * 3600 * 1000);
  assert.equal(git(["for-each-ref", "--format=%(refname)", "refs/turns"]), "refs/turns/thread/t1/before");
  assert.equal(git(["for-each-ref", "refs/index"]).split("\n").length, 1);
});

test("git is run again if the gc of another window deletes the folder of a new object", async () => {
  const { root, parent, write } = newFolder();
  write("a.txt", "old\n");
  const bin = tempFolder();
  const real = execFileSync("sh", ["-c", "command -v git"]).toString().trim();
  const script = `#!/bin/sh\ncase "$*" in *commit-tree*) if mkdir ${bin}/ran 2>/dev/null; then echo "error: unable to create temporary file: No such file or directory" >&2; exit 128; fi;; esac\nexec ${real} "$@"\n`;
  writeFileSync(join(bin, "git"), script, { mode: 0o755 });
  const path = process.env["PATH"];
  process.env["PATH"] = `${bin}:${path}`;
  try {
    await new Checkpoint(root, parent, (real) => new DiskFiles(real)).before("");
  } finally {
    process.env["PATH"] = path;
  }
  assert.ok(existsSync(join(bin, "ran")));
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

/** Runs work as a user who can't read all files; root can. */
async function asOtherUser<T>(folders: string[], work: () => Promise<T>): Promise<T> {
  const isRoot = process.geteuid!() === 0;
  if (isRoot) {
    for (const folder of folders) chownSync(folder, 65534, 65534);
    process.seteuid!(65534);
  }
  try {
    return await work();
  } finally {
    if (isRoot) process.seteuid!(0);
  }
}

test("a file that can't be read is left out, and named", async () => {
  const { root, store, parent, write, turn } = newFolder("/tmp"); // which all users can read
  write("secret.txt", "secret");
  chmodSync(join(root, "secret.txt"), 0);
  await asOtherUser([root, dirname(parent)], async () => {
    const record = await turn(() => write("a.txt", "codex\n"));
    const { files, uncovered } = await store.changes(record);
    assert.deepEqual([files.map((file) => file.path), uncovered], [["a.txt"], ["secret.txt"]]);
    await store.apply(await store.planRecords([record]));
    assert.equal(existsSync(join(root, "a.txt")), false);
  });
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

test("patterns of folders above the folder count", () => {
  const top = tempFolder();
  const root = join(top, "packages", "app");
  for (const folder of [join(top, ".git", "info"), root]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(top, ".git", "info", "exclude"), "*.log\n");
  writeFileSync(join(top, ".gitignore"), "/packages/*/dist\n/other/x\nbuild/\r\n# text\n!packages/a?p/keep\n**/deep/x\npackages/**/gen\n");
  writeFileSync(join(top, "packages", ".gitignore"), "/app/own\n/lib/own\n");
  assert.deepEqual(excludes(root, "", join(top, "store.git")).trim().split("\n"), ["*.log", "/dist", "build/", "!/keep", "**/deep/x", "**/gen", "/own"]);
});

test("names that are not UTF-8 are named as not covered, and stay", async () => {
  const { root, store, turn } = newFolder();
  const name = Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xff, 0x66])]);
  const record = await turn(() => writeFileSync(name, "codex"));
  const changes = await store.changes(record);
  assert.deepEqual([changes.files, changes.uncovered, changes.differ], [[], ["f\ufffdf"], true]);
  await store.apply(await store.planRecords([record]));
  assert.ok(existsSync(name));
});

test("ignored files do not make the store larger", async () => {
  const { root, store, write, turn } = newFolder();
  write(".gitignore", "node_modules/\n");
  write("a.txt", "a\n");
  await store.warm();
  const size = (): number => Number(execFileSync("du", ["-sb", store.dir]).toString().split("\t")[0]);
  const before = size();
  await turn(() => {
    for (let i = 0; i < 20; i++) write(`node_modules/p/${i}.bin`, randomBytes(100_000));
    write("a.txt", "codex\n");
  });
  assert.ok(size() - before < 100_000, `${size() - before} bytes more`);
  assert.equal(readdirSync(join(root, "node_modules", "p")).length, 20);
});
