// The private Git repository of a folder: its index and its snapshots, which are commits. The repository of the user is
// never used.
import { createHash, randomBytes } from "node:crypto";
import { realpathSync } from "node:fs";
import { chmod, copyFile, lstat, mkdir, open, readdir, rename, rm, stat, unlink, utimes, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { isExecutable, type State } from "./fileState";
import { Git } from "./git";
import { excludes } from "./ignore";
import { put } from "./merge";
import { isTemporary } from "./owner";
import * as strings from "./strings/changes";
import type { Modes, Record } from "./turnRecord";

const hour = 3600 * 1000;
const day = 24 * hour;
const maxAge = 14 * day;
const maxRefs = 200;
const attributes = "* -text -filter -ident -working-tree-encoding -diff -merge\n";

/** Returns a path of git, whose characters are bytes, as text. */
export const utf8 = (path: string): string => Buffer.from(path, "latin1").toString();

export class Snapshots {
  readonly root: string;
  readonly dir: string;
  readonly git: Git;
  private readonly name = randomBytes(6).toString("hex");
  private readonly index: string;

  /** parent: the folder of the repositories. Throws if folder can't have one. */
  constructor(folder: string, private readonly parent: string) {
    this.root = realpathSync(folder);
    if (this.root === "/" || this.root === realpathSync(homedir())) throw new Error(strings.changes.homeFolder);
    this.dir = join(parent, `${createHash("sha256").update(this.root).digest("hex").slice(0, 16)}.git`);
    this.index = join(this.dir, `index.${this.name}`);
    this.git = new Git(this.dir, this.root, this.index);
  }

  /** Makes the repository, and takes the index of an earlier process. */
  async prepare(): Promise<void> {
    await mkdir(this.parent, { recursive: true, mode: 0o700 });
    await chmod(this.parent, 0o700);
    await this.create();
    await chmod(this.dir, 0o700);
    await mkdir(join(this.dir, "info"), { recursive: true });
    await this.write("info/attributes", attributes);
    await this.removeLock();
    const old = await stat(join(this.dir, "index")).catch(() => undefined);
    if (old) {
      // The time stays: git compares a file that is not older than the index by content.
      await copyFile(join(this.dir, "index"), this.index);
      const seconds = Math.floor(old.mtimeMs / 1000);
      await utimes(this.index, seconds, seconds);
    }
  }

  /** Creates the repository in one step: another process may do the same, or use it already. */
  private async create(): Promise<void> {
    const exists = async (): Promise<boolean> => (await stat(join(this.dir, "HEAD")).catch(() => undefined)) !== undefined;
    const init = (dir: string): Promise<Buffer> => this.git.run(["init", "--quiet", "--bare", "--template=", dir], "", { GIT_DIR: undefined, GIT_WORK_TREE: undefined, GIT_DEFAULT_HASH: "sha1" });
    if (await exists()) return;
    const made = `${this.dir}.${this.name}`;
    await init(made);
    await rename(made, this.dir).catch(() => rm(made, { recursive: true }));
    if (!(await exists())) await init(this.dir); // it is incomplete
  }

  /** Writes a file of the store in one step: a git of another process may read it. */
  private async write(name: string, text: string): Promise<void> {
    const file = join(this.dir, `${name}.${this.name}`);
    await writeFile(file, text);
    await rename(file, join(this.dir, name));
  }

  /** Deletes the lock of a git that was killed. */
  private async removeLock(): Promise<void> {
    const lock = join(this.dir, "packed-refs.lock");
    const info = await stat(lock).catch(() => undefined);
    if (info && Date.now() - info.mtimeMs > hour) await unlink(lock).catch(() => undefined);
  }

  /** Writes the patterns of ignored files. */
  async writeExcludes(): Promise<void> {
    await this.write("info/exclude", excludes(this.root, await this.git.excludesFile(), this.dir));
  }

  /**
   * Brings the index up to date with the files. It has neither ignored files nor nested repositories. Returns the files
   * that can't be read, and stay as they are in the index.
   */
  async updateIndex(): Promise<string[]> {
    await unlink(`${this.index}.lock`).catch(() => undefined); // of a git that was killed
    const gone: string[] = [];
    const found: string[] = [];
    for (const path of new Set(await this.git.items(["ls-files", "-z", "-m", "-d"]))) (isTemporary(path) || (await this.isGone(path)) ? gone : found).push(path);
    for (const path of await this.git.items(["ls-files", "-z", "-o", "--exclude-standard"])) {
      if (!path.endsWith("/") && !isTemporary(path)) found.push(path); // else a repository
    }
    const changed: string[] = [];
    const unreadable: string[] = [];
    for (const path of found) ((await this.isReadable(path)) ? changed : unreadable).push(path);
    const input = (paths: string[]): Buffer => Buffer.from(paths.map((path) => `${path}\0`).join(""), "latin1");
    if (gone.length > 0) await this.git.run(["update-index", "--force-remove", "-z", "--stdin"], input(gone));
    if (changed.length > 0) await this.git.run(["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], input(changed));
    return unreadable;
  }

  /** Reports whether a file of the index is no longer there: it has another kind, or its folder is a link now. */
  private async isGone(path: string): Promise<boolean> {
    const info = await lstat(this.full(path)).catch(() => undefined);
    if (!info?.isFile() && !info?.isSymbolicLink()) return true;
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
      const folder = await lstat(this.full(path.slice(0, at))).catch(() => undefined);
      if (!folder?.isDirectory()) return true;
    }
    return false;
  }

  /** Reports whether git can read a file. One that is gone by now counts as readable. */
  private async isReadable(path: string): Promise<boolean> {
    const info = await lstat(this.full(path)).catch(() => undefined);
    if (!info?.isFile()) return true;
    try {
      await (await open(this.full(path))).close();
      return true;
    } catch (cause) {
      return (cause as NodeJS.ErrnoException).code === "ENOENT";
    }
  }

  private full = (path: string): Buffer => Buffer.concat([Buffer.from(`${this.root}/`), Buffer.from(path, "latin1")]);

  /** Commits the index. */
  async commit(meta: object): Promise<string> {
    const first = await this.git.try(["write-tree"]);
    let tree = first.out.toString().trim();
    if (first.code !== 0) {
      await unlink(this.index); // objects of the index were lost: read all files again
      await this.updateIndex();
      tree = await this.git.line(["write-tree"]);
    }
    const commit = await this.commitTree(tree, meta);
    await this.setRef(`refs/index/${this.name}`, commit); // the objects of the index stay
    return commit;
  }

  private commitTree = (tree: string, meta: object): Promise<string> => this.git.line(["commit-tree", tree, "-F", "-"], JSON.stringify(meta));

  /** Deletes refs. One that can't be deleted stays. */
  async deleteRefs(refs: string[]): Promise<void> {
    for (const ref of refs) await this.git.try(["update-ref", "-d", ref]);
  }

  setRef = (ref: string, commit: string): Promise<Buffer> => this.git.run(["update-ref", ref, commit]);

  /** Returns what a commit records beside its files. */
  async meta(commit: string): Promise<object> {
    const text = await this.git.run(["cat-file", "commit", commit]);
    return JSON.parse(text.subarray(text.indexOf("\n\n") + 2).toString()) as object;
  }

  /** Returns a commit with other states of some files. A file replaces a folder of its name. */
  async overlay(commit: string, states: Map<string, State>, meta: object): Promise<string> {
    const env = { GIT_INDEX_FILE: `${this.index}.overlay` };
    await this.git.run(["read-tree", commit], "", env);
    const lines: string[] = [];
    for (const [path, state] of states) {
      if (state.kind === "folder") continue; // its files are in the commit
      const mode = state.kind === "absent" ? "0" : state.kind === "link" ? "120000" : state.executable ? "100755" : "100644";
      lines.push(`${mode} ${state.kind === "absent" ? "0".repeat(40) : await put(this.git, state.data)}\t${path}\0`);
    }
    if (lines.length > 0) await this.git.run(["update-index", "--replace", "-z", "--index-info"], lines.join(""), env);
    const tree = await this.git.line(["write-tree"], "", env);
    await unlink(env.GIT_INDEX_FILE).catch(() => undefined);
    return this.commitTree(tree, meta);
  }

  /** Returns the paths that a snapshot does not have. */
  async outside(): Promise<Pick<Record, "outside" | "nested" | "empty">> {
    const ignored = await this.git.items(["ls-files", "-z", "-o", "-i", "--directory", "--exclude-standard"]);
    const others = (await this.git.items(["ls-files", "-z", "-o", "--directory", "--exclude-standard"])).filter((path) => path.endsWith("/"));
    const nested: string[] = [];
    for (const path of others) if (await lstat(Buffer.concat([this.full(path), Buffer.from(".git")])).catch(() => undefined)) nested.push(path);
    const empty = others.filter((path) => !nested.includes(path));
    return { outside: [...ignored, ...nested].map(utf8), nested: nested.map(utf8), empty: empty.map(utf8) };
  }

  /** Returns the permissions of the files of the index. */
  async modes(): Promise<Modes> {
    const byMode = new Map<number, string[]>();
    const paths = await this.git.items(["ls-files", "-z"]);
    for (let at = 0; at < paths.length; at += 500) {
      await Promise.all(paths.slice(at, at + 500).map(async (path) => {
        const info = await lstat(this.full(path)).catch(() => undefined);
        const mode = (info?.mode ?? 0) & 0o777;
        if (!info?.isFile()) return;
        const same = byMode.get(mode) ?? [];
        same.push(path);
        byMode.set(mode, same);
      }));
    }
    const frequent = [...byMode].sort((a, b) => b[1].length - a[1].length).map(([mode]) => mode);
    const usualModes: Modes["usualModes"] = [frequent.find((mode) => !isExecutable(mode)) ?? null, frequent.find(isExecutable) ?? null];
    const others = [...byMode].filter(([mode]) => !usualModes.includes(mode));
    return { modes: others.flatMap(([mode, of]) => of.map((path): [string, number] => [utf8(path), mode])), usualModes };
  }

  /** Returns the contents of blobs. */
  async contents(oids: string[]): Promise<Map<string, Buffer>> {
    const contents = new Map<string, Buffer>();
    if (oids.length === 0) return contents;
    const out = await this.git.run(["cat-file", "--batch"], oids.map((oid) => `${oid}\n`).join(""));
    let at = 0;
    for (const oid of oids) {
      const end = out.indexOf("\n", at);
      const head = out.subarray(at, end).toString();
      const size = /^\w+ \w+ (\d+)$/.exec(head)?.[1];
      if (size === undefined) throw new Error(strings.changes.gitFailed("cat-file", head));
      contents.set(oid, out.subarray(end + 1, end + 1 + Number(size)));
      at = end + Number(size) + 2;
    }
    return contents;
  }

  /** Deletes old snapshots, and files that other processes have left. */
  async clean(now: number): Promise<void> {
    const refs = await this.oldRefs(now);
    const isDone = refs.length === 0 || (await this.git.try(["update-ref", "--stdin"], refs.map((ref) => `delete ${ref}\n`).join(""))).code === 0;
    if (!isDone) await this.deleteRefs(refs); // one of them is locked
    await this.cleanFiles(now);
    const mark = join(this.dir, "cleaned");
    const last = await stat(mark).catch(() => undefined);
    if (last && now - last.mtimeMs < day) return;
    await writeFile(mark, "");
    // Another editor may be writing newer objects. A message does not wait for it.
    if (last) void this.git.try(["gc", "--quiet", "--prune=1.day.ago"]);
  }

  /** Returns the refs of snapshots that are old, or too many. Those of the indexes do not count. */
  private async oldRefs(now: number): Promise<string[]> {
    const old: string[] = [];
    const stays = new Map<string, boolean>();
    let count = 0;
    for (const line of (await this.git.line(["for-each-ref", "--sort=-creatordate", "--format=%(creatordate:unix) %(refname)"])).split("\n")) {
      const [, time, ref = ""] = /^(\d+) (.*)$/.exec(line) ?? [];
      if (time === undefined || ref === `refs/index/${this.name}`) continue;
      const group = ref.replace(/\/(?:before|after|writing)$/, "");
      const isIndex = ref.startsWith("refs/index/");
      if (!stays.has(group)) stays.set(group, now - Number(time) * 1000 <= maxAge && (isIndex || ++count <= maxRefs));
      if (!stays.get(group)) old.push(ref);
    }
    return old;
  }

  /** Deletes the files of processes that were killed. */
  private async cleanFiles(now: number): Promise<void> {
    for (const name of await readdir(this.dir)) {
      const isIndex = name.startsWith("index.") && !name.startsWith(`index.${this.name}`);
      if (!isIndex && !name.startsWith("merge.")) continue;
      const info = await stat(join(this.dir, name)).catch(() => undefined);
      if (info && now - info.mtimeMs > (isIndex ? maxAge : day)) await rm(join(this.dir, name), { recursive: true, force: true });
    }
  }

  /** Leaves the index to the next process. */
  close(): Promise<void> {
    return rename(this.index, join(this.dir, "index"));
  }
}
