// Merges the states of files, and finds and reverses hunks. Texts are bytes.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isSame, absent, type State } from "./fileState";
import type { Git } from "./git";

/** The first lines of both sides, from 0, and the numbers of lines. */
export interface Hunk {
  before: number;
  removed: number;
  after: number;
  added: number;
}

export const isBinary = (data: Buffer): boolean => data.includes(0);

const maxSize = 1024 * 1024;

/** Returns the lines with their ends. Each character is a byte. */
export const linesOf = (data: Buffer): string[] => data.toString("latin1").match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** Returns the hunks between two texts; undefined for files that are shown as a whole. */
export async function findHunks(git: Git, before: Buffer, after: Buffer): Promise<Hunk[] | undefined> {
  if (before.length + after.length > maxSize || isBinary(before) || isBinary(after)) return undefined;
  const [a, b] = [await put(git, before), await put(git, after)];
  const diff = (await git.run(["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--text", "-U0", "--inter-hunk-context=0", a, b])).toString("latin1");
  const hunks = [...diff.matchAll(/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/gm)].map(([, from, removed = "1", to, added = "1"]) => ({
    before: Number(from) - (removed === "0" ? 0 : 1), removed: Number(removed),
    after: Number(to) - (added === "0" ? 0 : 1), added: Number(added),
  }));
  const all = new Set(hunks.keys());
  if (reverse(before, after, hunks, all).equals(before)) return hunks;
  return [{ before: 0, removed: linesOf(before).length, after: 0, added: linesOf(after).length }];
}

export const put = (git: Git, data: Buffer): Promise<string> => git.line(["hash-object", "-w", "--no-filters", "--stdin"], data);

/** Returns the text after with some hunks reversed. */
export function reverse(before: Buffer, after: Buffer, hunks: Hunk[], undone: ReadonlySet<number>): Buffer {
  const [old, now] = [linesOf(before), linesOf(after)];
  const lines: string[] = [];
  let at = 0;
  hunks.forEach((hunk, i) => {
    lines.push(...now.slice(at, hunk.after));
    lines.push(...(undone.has(i) ? old.slice(hunk.before, hunk.before + hunk.removed) : now.slice(hunk.after, hunk.after + hunk.added)));
    at = hunk.after + hunk.added;
  });
  lines.push(...now.slice(at));
  return Buffer.from(lines.join(""), "latin1");
}

/** Returns current with the changes from base to target; undefined if they touch the same lines. */
export async function mergeText(git: Git, folder: string, current: Buffer, base: Buffer, target: Buffer): Promise<Buffer | undefined> {
  if (current.equals(base) || current.equals(target)) return target;
  if (base.equals(target)) return current;
  if ([current, base, target].some(isBinary)) return undefined;
  const work = await mkdtemp(join(folder, "merge."));
  try {
    const files = ["current", "base", "target"].map((name) => join(work, name));
    await Promise.all([current, base, target].map((data, i) => writeFile(files[i]!, data)));
    const { code, out } = await git.try(["merge-file", "-p", "-q", "--", ...files]);
    return code === 0 ? out : undefined;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The same for states. */
export async function merge(git: Git, folder: string, current: State, base: State, target: State): Promise<State | undefined> {
  if (current.kind === "folder" && base.kind === "absent") current = absent; // the write refuses it, if the folder is still there
  if (isSame(current, base) || isSame(current, target)) return target;
  if (isSame(base, target)) return current;
  if ([current, base, target].some((one) => one.kind !== "file")) return undefined;
  const data = await mergeText(git, folder, current.data, base.data, target.data);
  const executable = current.executable === base.executable ? target.executable : current.executable;
  return data && { kind: "file", data, executable };
}
