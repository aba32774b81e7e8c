// The folder of the store: its rights, its size, several windows, and what git may leave in it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { Checkpoint } from "../src/core/checkpoint";
import { DiskFiles } from "../src/core/fileState";
import { newFolder, openAgain } from "./checkpointFolder";
import { tempFolder } from "./tempFolder";

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
