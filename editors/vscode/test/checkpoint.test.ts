// Snapshots, and restores to before a turn, with a real git.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { excludes } from "../src/core/ignore";
import { newFolder, openAgain, tree, verdicts } from "./checkpointFolder";
import { tempFolder } from "./tempFolder";

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
