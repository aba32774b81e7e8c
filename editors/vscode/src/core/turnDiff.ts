// The files that a running turn has changed so far, from Codex's diff of the turn. It has the patches, not the changes of
// commands.
import { existsSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import type { FileChange } from "./entry";
import { relativePath } from "./text";

/** Returns the files of a diff. Paths are relative to cwd, or absolute outside of it. */
export function parseTurnDiff(diff: string, cwd: string): FileChange[] {
  const root = displayRoot(cwd);
  return parse(diff).map((file) => ({ ...file, path: relativePath(cwd, isAbsolute(file.path) ? file.path : join(root, file.path)) }));
}

/** Returns the folder that the paths of a diff are relative to: the root of the Git repository, else cwd. */
function displayRoot(cwd: string): string {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return folder;
    if (folder === dirname(folder)) return cwd;
  }
}

function parse(diff: string): FileChange[] {
  const files: FileChange[] = [];
  let file: FileChange | undefined;
  let [old, now] = [0, 0]; // the lines of the hunk that are still to come
  for (const line of diff.split("\n")) {
    if (old > 0 || now > 0) {
      if (line.startsWith("\\")) continue; // "No newline at end of file"
      if (!line.startsWith("+")) old--;
      if (!line.startsWith("-")) now--;
      if (line.startsWith("+")) file!.added++;
      if (line.startsWith("-")) file!.removed++;
      continue;
    }
    const [, path] = /^diff --git a\/.* b\/(.*)$/.exec(line) ?? [];
    if (path !== undefined) files.push((file = { path: half(line) ?? path, kind: "update", added: 0, removed: 0 }));
    if (!file) continue;
    if (line.startsWith("new file mode ")) file.kind = "add";
    if (line.startsWith("deleted file mode ")) file.kind = "delete";
    const [, side] = /^(?:---|\+\+\+) [ab]\/(.*)$/.exec(line) ?? [];
    if (side !== undefined) file.path = side; // the new path comes last
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (hunk) [old, now] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)];
  }
  return files;
}

/** Returns the path of a header whose two paths are the same. The path may contain " b/". */
function half(header: string): string | undefined {
  const both = header.slice("diff --git ".length);
  const path = both.slice(2, (both.length - 1) / 2);
  return both === `a/${path} b/${path}` ? path : undefined;
}
