// The store of a folder: a private git repository with a snapshot before and after each turn, and the undo of the
// changes between them. The repository of the user is never used. Work on a store is done one after the other.
import { createHash, randomBytes } from "node:crypto";
import { realpathSync } from "node:fs";
import { chmod, copyFile, lstat, mkdir, open, readdir, rename, rm, stat, unlink, utimes, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { absent, isSame, isValid, type Files, type State } from "./fileState";
import { Git } from "./git";
import { excludes } from "./ignore";
import { findHunks, merge, mergeText, put } from "./merge";
import * as strings from "./strings";
import { toStep, type ChangedFile, type Changes, type Plan, type Plans, type Record, type Save, type Step, type Verdict } from "./turnRecord";

const day = 24 * 3600 * 1000;
const maxAge = 14 * day;
const maxRefs = 200;
const attributes = "* -text -filter -ident -working-tree-encoding -diff -merge\n";

/** Returns an id as a component of a ref. */
export const refKey = (id: string): string => (/^[A-Za-z0-9][\w-]{0,99}$/.test(id) ? id : createHash("sha256").update(id).digest("hex"));

const turnRef = (threadId: string, turnId: string): string => `refs/turns/${refKey(threadId)}/${refKey(turnId)}`;

const utf8 = (path: string): string => Buffer.from(path, "latin1").toString();

/** Reports whether a process runs. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "EPERM";
  }
}

export class Checkpoint {
  readonly root: string;
  readonly dir: string;
  readonly git: Git;
  private readonly name = randomBytes(6).toString("hex");
  private readonly index: string;
  private queue: Promise<unknown> = Promise.resolve();
  private ready: Promise<void> | undefined;

  /** parent: the folder of the stores. Throws if folder can't have a store. */
  constructor(folder: string, private readonly parent: string, private readonly toFiles: (root: string) => Files) {
    this.root = realpathSync(folder);
    if (this.root === "/" || this.root === realpathSync(homedir())) throw new Error(strings.changes.homeFolder);
    this.dir = join(parent, `${createHash("sha256").update(this.root).digest("hex").slice(0, 16)}.git`);
    this.index = join(this.dir, `index.${this.name}`);
    this.git = new Git(this.dir, this.root, this.index);
  }

  private enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.queue.then(async () => {
      await (this.ready ??= this.prepare());
      return work();
    });
    this.queue = result.catch(() => undefined);
    return result;
  }

  private async prepare(): Promise<void> {
    try {
      for (const folder of [this.parent, this.dir]) {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await chmod(folder, 0o700);
      }
      if (!(await stat(join(this.dir, "HEAD")).catch(() => undefined))) await this.git.run(["init", "--quiet", "--bare", "--template="], "", { GIT_WORK_TREE: undefined, GIT_DEFAULT_HASH: "sha1" });
      await mkdir(join(this.dir, "info"), { recursive: true });
      await writeFile(join(this.dir, "info", "attributes"), attributes);
      const old = await stat(join(this.dir, "index")).catch(() => undefined);
      if (old) {
        // The time stays: git compares a file that is not older than the index by content.
        await copyFile(join(this.dir, "index"), this.index);
        const seconds = Math.floor(old.mtimeMs / 1000);
        await utimes(this.index, seconds, seconds);
      }
    } catch (cause) {
      this.ready = undefined;
      throw cause;
    }
  }

  // Snapshots

  /** Takes a first snapshot, so that later ones are quick, ends the turns of closed windows, and deletes old snapshots. */
  warm(now = Date.now()): Promise<void> {
    return this.enqueue(async () => {
      await this.writeExcludes();
      await this.updateIndex();
      await this.endLeftTurns(await this.commit({ time: now }));
      await this.clean(now);
    });
  }

  /** Takes the snapshot before a turn, and returns its commit. */
  before(text: string): Promise<string> {
    return this.enqueue(async () => {
      await this.writeExcludes(); // a turn has the same patterns before and after
      const unreadable = await this.updateIndex();
      return this.commit({ time: Date.now(), text: text.split("\n")[0]!.slice(0, 80), pid: process.pid, ...(await this.outside()), unreadable: unreadable.map(utf8) });
    });
  }

  /** Records that a turn has begun. Without its end, the next window ends it. */
  begin(threadId: string, turnId: string, before: string): Promise<unknown> {
    return this.enqueue(() => this.setRef(`${turnRef(threadId, turnId)}/before`, before));
  }

  /** Gives the turns that a closed window has left a snapshot after them. */
  private async endLeftTurns(after: string): Promise<void> {
    const sides = await this.sides("refs/turns");
    for (const [ref, { before, after: has }] of sides) {
      if (before === undefined || has !== undefined) continue;
      const meta = await this.meta(before);
      if ("pid" in meta && isAlive(Number(meta.pid))) continue;
      await this.setRef(`${ref}/before`, await this.overlay(before, new Map(), { ...meta, unfinished: true }));
      await this.setRef(`${ref}/after`, after);
    }
  }

  /** Takes the snapshot after a turn, and records both. */
  after(threadId: string, turnId: string, before: string, saves: Save[] = []): Promise<Record> {
    return this.enqueue(async () => {
      await this.updateIndex();
      const after = await this.commit({});
      const { overlays, inseparable } = await this.separate(before, saves);
      const ref = turnRef(threadId, turnId);
      const meta = await this.meta(before);
      await this.setRef(`${ref}/before`, await this.overlay(before, overlays, { ...meta, saved: [...new Set(saves.map((one) => one.path))], inseparable }));
      await this.setRef(`${ref}/after`, after);
      return (await this.records(ref))[0]!;
    });
  }

  /** Adds the changes of the user's saves to the contents before the turn, so that an undo keeps them. */
  private async separate(before: string, saves: Save[]): Promise<{ overlays: Map<string, State>; inseparable: string[] }> {
    const overlays = new Map<string, State>();
    const inseparable: string[] = [];
    for (const path of new Set(saves.map((one) => one.path))) {
      const entry = /^(\d+) blob (\w+)\t/.exec(await this.git.line(["ls-tree", "-z", before, "--", path]));
      const mine = saves.filter((one) => one.path === path);
      const original = entry ? (await this.contents([entry[2]!])).get(entry[2]!) : undefined;
      let text = original ?? (mine[0]!.before === undefined ? Buffer.alloc(0) : undefined);
      for (const save of mine) text &&= await mergeText(this.git, this.dir, text, save.before ?? Buffer.alloc(0), save.after);
      if (!text || entry?.[1] === "120000") inseparable.push(path);
      else if (!original?.equals(text)) overlays.set(path, { kind: "file", data: text, executable: entry?.[1] === "100755" });
    }
    return { overlays, inseparable };
  }

  private async writeExcludes(): Promise<void> {
    const file = join(this.dir, "info", `exclude.${this.name}`);
    await writeFile(file, excludes(this.root, await this.git.excludesFile(), this.dir));
    await rename(file, join(this.dir, "info", "exclude"));
  }

  /**
   * Brings the index up to date with the files. It has neither ignored files nor nested repositories. Returns the files
   * that can't be read, and stay as they are in the index.
   */
  private async updateIndex(): Promise<string[]> {
    await unlink(`${this.index}.lock`).catch(() => undefined); // of a git that was killed
    const gone: string[] = [];
    const found: string[] = [];
    for (const path of new Set(await this.git.items(["ls-files", "-z", "-m", "-d"]))) {
      const info = await lstat(this.full(path)).catch(() => undefined);
      (!info || info.isDirectory() ? gone : found).push(path);
    }
    for (const path of await this.git.items(["ls-files", "-z", "-o", "--exclude-standard"])) {
      if (!path.endsWith("/")) found.push(path); // else a repository
    }
    const changed: string[] = [];
    const unreadable: string[] = [];
    for (const path of found) ((await this.isReadable(path)) ? changed : unreadable).push(path);
    const input = (paths: string[]): Buffer => Buffer.from(paths.map((path) => `${path}\0`).join(""), "latin1");
    if (gone.length > 0) await this.git.run(["update-index", "--force-remove", "-z", "--stdin"], input(gone));
    if (changed.length > 0) await this.git.run(["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], input(changed));
    return unreadable;
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
  private async commit(meta: object): Promise<string> {
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

  private setRef = (ref: string, commit: string): Promise<Buffer> => this.git.run(["update-ref", ref, commit]);

  private async meta(commit: string): Promise<object> {
    const text = await this.git.run(["cat-file", "commit", commit]);
    return JSON.parse(text.subarray(text.indexOf("\n\n") + 2).toString()) as object;
  }

  /** Returns a commit with other states of some files. */
  private async overlay(commit: string, states: Map<string, State>, meta: object): Promise<string> {
    const env = { GIT_INDEX_FILE: `${this.index}.overlay` };
    await this.git.run(["read-tree", commit], "", env);
    const lines: string[] = [];
    for (const [path, state] of states) {
      const mode = state.kind === "absent" ? "0" : state.kind === "link" ? "120000" : state.executable ? "100755" : "100644";
      lines.push(`${mode} ${state.kind === "absent" ? "0".repeat(40) : await put(this.git, state.data)}\t${path}\0`);
    }
    if (lines.length > 0) await this.git.run(["update-index", "-z", "--index-info"], lines.join(""), env);
    const tree = await this.git.line(["write-tree"], "", env);
    await unlink(env.GIT_INDEX_FILE).catch(() => undefined);
    return this.commitTree(tree, meta);
  }

  private async outside(): Promise<Pick<Record, "outside" | "nested" | "empty">> {
    const ignored = await this.git.items(["ls-files", "-z", "-o", "-i", "--directory", "--exclude-standard"]);
    const others = (await this.git.items(["ls-files", "-z", "-o", "--directory", "--exclude-standard"])).filter((path) => path.endsWith("/"));
    const nested: string[] = [];
    for (const path of others) if (await lstat(Buffer.concat([this.full(path), Buffer.from(".git")])).catch(() => undefined)) nested.push(path);
    const empty = others.filter((path) => !nested.includes(path));
    return { outside: [...ignored, ...nested].map(utf8), nested: nested.map(utf8), empty: empty.map(utf8) };
  }

  // Records

  /** Returns the turns of a thread, the oldest first. */
  turns = (threadId: string): Promise<Record[]> => this.enqueue(() => this.records(`refs/turns/${refKey(threadId)}`));

  /** Returns the undos and restores, the oldest first. */
  undos = (): Promise<Record[]> => this.enqueue(() => this.records("refs/undo"));

  /** Returns the snapshots of the records below a prefix. */
  private async sides(prefix: string): Promise<Map<string, { before?: string; after?: string }>> {
    const refs = new Map<string, { before?: string; after?: string }>();
    for (const line of (await this.git.line(["for-each-ref", "--format=%(objectname) %(refname)", prefix])).split("\n")) {
      const [, oid, ref, side] = /^(\w+) (.*)\/(before|after)$/.exec(line) ?? [];
      if (ref !== undefined) refs.set(ref, { ...refs.get(ref), [side!]: oid });
    }
    return refs;
  }

  private async records(prefix: string): Promise<Record[]> {
    const records: Record[] = [];
    for (const [ref, { before, after }] of await this.sides(prefix)) {
      if (before === undefined || after === undefined) continue;
      records.push({ time: 0, text: "", outside: [], nested: [], unreadable: [], empty: [], saved: [], inseparable: [], unfinished: false, ...(await this.meta(before)), ref, before, after });
    }
    return records.sort((a, b) => a.time - b.time);
  }

  private async contents(oids: string[]): Promise<Map<string, Buffer>> {
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

  // Changes

  /** Returns what differs between the snapshots of a record. */
  changes = (record: Record): Promise<Changes> => this.enqueue(() => this.compare(record));

  private async compare(record: Record): Promise<Changes> {
    const items = await this.git.items(["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", record.before, record.after]);
    const uncovered = [...record.nested, ...record.unreadable];
    const found: { path: string; sides: [mode: string, oid: string][] }[] = [];
    for (let i = 0; i + 1 < items.length; i += 2) {
      const [, oldMode = "", mode = "", old = "", oid = ""] = /^:(\d+) (\d+) (\w+) (\w+)/.exec(items[i]!) ?? [];
      const bytes = Buffer.from(items[i + 1]!, "latin1");
      const path = bytes.toString();
      const isNew = /^0+$/.test(oldMode);
      const wasOutside = isNew && record.outside.some((one) => one === path || (one.endsWith("/") && path.startsWith(one)));
      if ([oldMode, mode].includes("160000") || !isValid(path) || !Buffer.from(path).equals(bytes) || wasOutside) uncovered.push(path);
      else found.push({ path, sides: [[oldMode, old], [mode, oid]] });
    }
    const exists = ([mode]: [string, string]): boolean => !/^0+$/.test(mode);
    const contents = await this.contents(found.flatMap(({ sides }) => sides.filter(exists).map(([, oid]) => oid)));
    const state = (side: [string, string]): State =>
      exists(side) ? { kind: side[0] === "120000" ? "link" : "file", data: contents.get(side[1])!, executable: side[0] === "100755" } : absent;
    const files: ChangedFile[] = [];
    for (const { path, sides } of found) {
      const [before, after] = [state(sides[0]!), state(sides[1]!)];
      const isText = before.kind !== "link" && after.kind !== "link";
      files.push({
        path, before, after, saved: record.saved.includes(path), inseparable: record.inseparable.includes(path), undone: new Set(),
        hunks: isText ? await findHunks(this.git, before.data, after.data) : undefined,
      });
    }
    return { files, uncovered: uncovered.sort(), differ: items.length > 0 };
  }

  /** Returns the paths that no snapshot of a record has: those outside the folder, ignored ones, and those in nested repositories. */
  missing(record: Record, paths: string[]): Promise<string[]> {
    return this.enqueue(async () => {
      const isIn = async (commit: string, path: string): Promise<boolean> => (await this.git.line(["ls-tree", "-z", "--name-only", commit, "--", path])) !== "";
      const missing: string[] = [];
      for (const path of paths) {
        const isInFolder = !isAbsolute(path) && isValid(path);
        if (isInFolder && ((await isIn(record.before, path)) || (await isIn(record.after, path)))) continue;
        if (!isInFolder || (await lstat(join(this.root, path)).catch(() => undefined))) missing.push(path);
      }
      return missing;
    });
  }

  /** Returns a file as the user sees it now. */
  read = (path: string): Promise<State> => this.toFiles(this.root).read(path);

  // Undo

  /** Plans the undo of a file, or of one of its hunks. */
  planFile(record: Record, file: ChangedFile, hunk?: number): Promise<Plans> {
    return this.enqueue(async () => ({ plans: [await this.plan(file.path, [toStep(file, hunk)])], uncovered: [], keeps: new Set(record.empty) }));
  }

  /** Plans the undo of records, the oldest first. */
  planRecords(records: Record[]): Promise<Plans> {
    return this.enqueue(async () => {
      const steps = new Map<string, Step[]>();
      const uncovered = new Set<string>();
      for (const record of records.toReversed()) {
        const changes = await this.compare(record);
        for (const file of changes.files) steps.set(file.path, [...(steps.get(file.path) ?? []), toStep(file)]);
        for (const path of changes.uncovered) uncovered.add(path);
      }
      const plans: Plan[] = [];
      for (const path of [...steps.keys()].sort()) plans.push(await this.plan(path, steps.get(path)!));
      return { plans, uncovered: [...uncovered].sort(), keeps: new Set(records[0]?.empty) };
    });
  }

  /** steps: the newest first. */
  private async plan(path: string, steps: Step[]): Promise<Plan> {
    const seen = await this.toFiles(this.root).read(path);
    const not = (verdict: Verdict, reason: string): Plan => ({ path, seen, result: seen, verdict, reason });
    if (seen.kind === "special") return not("refused", strings.changes.isSpecial);
    let result: State | undefined = seen;
    for (const { base, target, inseparable } of steps) {
      if (inseparable) return not("conflict", strings.changes.inseparable);
      result = await merge(this.git, this.dir, result, base, target);
      if (!result) return not("conflict", seen.kind === "folder" ? strings.changes.isFolder : strings.changes.conflict);
    }
    const verdict = isSame(result, seen) ? "same" : isSame(result, steps.at(-1)!.target) ? "restored" : "merged";
    return { path, seen, result, verdict, reason: "" };
  }

  /**
   * Writes plans, between two snapshots. It throws and writes nothing without the first one. A plan whose write fails is
   * refused. Returns the record of the undo, if something was to be written.
   */
  apply({ plans, keeps }: Plans, undoOf?: Record): Promise<Record | undefined> {
    return this.enqueue(async () => {
      const isDeletion = (plan: Plan): number => (plan.result.kind === "absent" ? 0 : 1);
      // Deletions come first, so that a file can replace a folder.
      const list = plans.filter(({ verdict }) => verdict === "restored" || verdict === "merged").sort((a, b) => isDeletion(a) - isDeletion(b));
      if (list.length === 0) return undefined;
      const unsaved = (side: (plan: Plan) => State): Map<string, State> => new Map(list.filter((plan) => plan.seen.unsaved).map((plan) => [plan.path, side(plan)]));
      const time = Date.now();
      const ref = `refs/undo/${time}-${randomBytes(4).toString("hex")}`;
      const meta = { time, empty: [...keeps] };
      await this.updateIndex();
      await this.setRef(`${ref}/before`, await this.overlay(await this.commit({}), unsaved((plan) => plan.seen), meta));
      const files = this.toFiles(this.root);
      for (const plan of list) {
        try {
          await files.write(plan.path, plan.seen, plan.result, keeps);
        } catch (cause) {
          Object.assign(plan, { verdict: "refused", reason: (cause as Error).message, result: plan.seen });
        }
      }
      await this.updateIndex();
      await this.setRef(`${ref}/after`, await this.overlay(await this.commit({}), unsaved((plan) => plan.result), meta));
      for (const side of undoOf ? ["before", "after"] : []) await this.git.run(["update-ref", "-d", `${undoOf!.ref}/${side}`]);
      return (await this.records(ref))[0];
    });
  }

  // Clean up

  private async clean(now: number): Promise<void> {
    const lines = (await this.git.line(["for-each-ref", "--sort=-creatordate", "--format=%(creatordate:unix) %(refname)"])).split("\n");
    const stays = new Map<string, boolean>();
    const dead: string[] = [];
    for (const line of lines) {
      const [, time, ref = ""] = /^(\d+) (.*)$/.exec(line) ?? [];
      if (time === undefined || ref === `refs/index/${this.name}`) continue;
      const group = ref.replace(/\/(?:before|after)$/, "");
      if (!stays.has(group)) stays.set(group, now - Number(time) * 1000 <= maxAge && stays.size < maxRefs);
      if (!stays.get(group)) dead.push(`delete ${ref}\n`);
    }
    if (dead.length > 0) await this.git.run(["update-ref", "--stdin"], dead.join(""));
    for (const name of await readdir(this.dir)) {
      const isIndex = name.startsWith("index.") && !name.startsWith(`index.${this.name}`);
      if (!isIndex && !name.startsWith("merge.")) continue; // of processes that were killed
      const info = await stat(join(this.dir, name)).catch(() => undefined);
      if (info && now - info.mtimeMs > (isIndex ? maxAge : day)) await rm(join(this.dir, name), { recursive: true, force: true });
    }
    const mark = join(this.dir, "cleaned");
    const last = await stat(mark).catch(() => undefined);
    if (last && now - last.mtimeMs < day) return;
    await writeFile(mark, "");
    await this.git.run(["gc", "--quiet", "--prune=1.day.ago"]); // another editor may be writing newer objects
  }

  /** Leaves the index to the next process. */
  close(): Promise<void> {
    return this.queue.then(() => rename(this.index, join(this.dir, "index"))).catch(() => undefined);
  }
}
