import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseTurnDiff } from "../src/core/turnDiff";
import { tempFolder } from "./tempFolder";

const root = tempFolder();
mkdirSync(join(root, ".git"));
const update = (path: string): string => `diff --git a/${path} b/${path}\nindex 1..2\n--- a/${path}\n+++ b/${path}\n@@ -1,3 +1,3 @@\n one\n--- two\n+++ deux\n three\n@@ -9 +9,2 @@\n-nine\n+neuf\n+dix\n\\ No newline at end of file\n`;

test("the files of a diff have their kinds and counts; lines that look like headers are lines", () => {
  const diff = [
    update("a b/c.txt"),
    "diff --git a/empty b/empty\nnew file mode 100644\nindex 0..1\n",
    "diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\nindex 1..0\n--- a/gone.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n",
    "diff --git a/old.txt b/new.txt\nindex 1..2\n--- a/old.txt\n+++ b/new.txt\n@@ -1 +1 @@\n-x\n+y\n",
  ].join("");
  assert.deepEqual(parseTurnDiff(diff, root), [
    { path: "a b/c.txt", kind: "update", added: 3, removed: 2 },
    { path: "empty", kind: "add", added: 0, removed: 0 },
    { path: "gone.txt", kind: "delete", added: 0, removed: 2 },
    { path: "new.txt", kind: "update", added: 1, removed: 1 },
  ]);
  assert.deepEqual(parseTurnDiff("", root), []);
  assert.deepEqual(parseTurnDiff("nothing of a diff\n@@ -1 +1 @@\n+x\n", root), []);
});

test("paths are those of the Git repository, and are shown relative to the folder", () => {
  const repository = join(root, "repository");
  mkdirSync(join(repository, ".git"), { recursive: true });
  mkdirSync(join(repository, "sub"));
  const paths = parseTurnDiff(update("sub/in.txt") + update("beside.txt") + update("/elsewhere/x.txt"), join(repository, "sub")).map((file) => file.path);
  assert.deepEqual(paths, ["in.txt", join(repository, "beside.txt"), "/elsewhere/x.txt"]);
});
