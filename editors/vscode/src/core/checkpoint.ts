// The store of a folder: a private git repository with a snapshot before and after each turn, and the undo of the
// changes between them. The repository of the user is never used. Work on a store is done one after the other.
import { createHash, randomBytes } from "node:crypto";
import { lstat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { absent, isSame, isValid, removeLeft, type Files, type State } from "./fileState";
import type { Git } from "./git";
import { findHunks, merge, mergeText } from "./merge";
import { isAlive, ownId } from "./owner";
import { Snapshots, utf8 } from "./snapshots";
import * as strings from "./strings/changes";
import { emptyRecord, toStep, type ChangedFile, type Changes, type Interrupted, type Plan, type Plans, type Record, type Save, type Step, type Verdict } from "./turnRecord";

/** Returns an id as a component of a ref. */
export const refKey = (id: string): string => (/^[A-Za-z0-9][\w-]{0,99}$/.test(id) ? id : createHash("sha256").update(id).digest("hex"));

/** The commits of a record. writing: it is being written, or the window was closed. */
interface Sides {
  before?: string;
  after?: string;
  writing?: string;
}

const sidesOf = (ref: string): string[] => ["before", "after", "writing"].map((side) => `${ref}/${side}`);

const turnRef = (threadId: string, turnId: string): string => `refs/turns/${refKey(threadId)}/${refKey(turnId)}`;

/** The undos and restores that this process writes now. */
const beingWritten = new Set<string>();

export class Checkpoint {
  private readonly snapshots: Snapshots;
  private queue: Promise<unknown> = Promise.resolve();
  private ready: Promise<void> | undefined;

  /** parent: the folder of the stores. owner: the id of the process. Throws if folder can't have a store. */
  constructor(folder: string, parent: string, private readonly toFiles: (root: string) => Files, private readonly owner = ownId) {
    this.snapshots = new Snapshots(folder, parent);
  }

  /** The real path of the folder. */
  get root(): string {
    return this.snapshots.root;
  }

  /** The folder of the store. */
  get dir(): string {
    return this.snapshots.dir;
  }

  private get git(): Git {
    return this.snapshots.git;
  }

  private enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.queue.then(async () => {
      await (this.ready ??= this.snapshots.prepare().catch((cause: unknown) => {
        this.ready = undefined;
        throw cause;
      }));
      return work();
    });
    this.queue = result.catch(() => undefined);
    return result;
  }

  // Snapshots

  /**
   * Takes a first snapshot, so that later ones are quick, ends the turns of closed windows, and deletes old snapshots.
   * Returns the undos and restores that a closed window has left incomplete.
   */
  warm(now = Date.now()): Promise<Interrupted[]> {
    return this.enqueue(async () => {
      await this.snapshots.writeExcludes();
      await this.snapshots.updateIndex();
      await this.endLeftTurns(await this.snapshots.commit({ time: now }));
      await this.snapshots.clean(now);
      return this.leftRecords();
    });
  }

  /** Takes the snapshot before a turn, and returns its commit. */
  before(text: string): Promise<string> {
    return this.enqueue(async () => {
      await this.snapshots.writeExcludes(); // a turn has the same patterns before and after
      const unreadable = await this.snapshots.updateIndex();
      return this.snapshots.commit({ time: Date.now(), text: text.split("\n")[0]!.slice(0, 80), owner: this.owner, ...(await this.snapshots.outside()), ...(await this.snapshots.modes()), unreadable: unreadable.map(utf8) });
    });
  }

  /** Records that a turn has begun. Without its end, the next window ends it. */
  begin(threadId: string, turnId: string, before: string): Promise<unknown> {
    return this.enqueue(() => this.snapshots.setRef(`${turnRef(threadId, turnId)}/before`, before));
  }

  /** Gives the turns that a closed window has left a snapshot after them, unless they have one by then. */
  private async endLeftTurns(after: string): Promise<void> {
    for (const [ref, { before, after: has }] of await this.sides("refs/turns")) {
      if (before === undefined || has !== undefined) continue;
      const meta = await this.snapshots.meta(before);
      if ("owner" in meta && isAlive(String(meta.owner))) continue;
      const unfinished = await this.snapshots.overlay(before, new Map(), { ...meta, unfinished: true });
      await this.git.try(["update-ref", "--stdin"], `update ${ref}/before ${unfinished} ${before}\ncreate ${ref}/after ${after}\n`);
    }
  }

  /** Takes the snapshot after a turn, and records both. */
  after(threadId: string, turnId: string, before: string, saves: Save[] = []): Promise<Record> {
    return this.enqueue(async () => {
      await this.snapshots.updateIndex();
      const after = await this.snapshots.commit({});
      const { overlays, inseparable } = await this.separate(before, saves);
      const ref = turnRef(threadId, turnId);
      const meta = await this.snapshots.meta(before);
      await this.snapshots.setRef(`${ref}/before`, await this.snapshots.overlay(before, overlays, { ...meta, saved: [...new Set(saves.map((one) => one.path))], inseparable }));
      await this.snapshots.setRef(`${ref}/after`, after);
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
      const original = entry ? (await this.snapshots.contents([entry[2]!])).get(entry[2]!) : undefined;
      let text = original ?? (mine[0]!.before === undefined ? Buffer.alloc(0) : undefined);
      for (const save of mine) text &&= await mergeText(this.git, this.dir, text, save.before ?? Buffer.alloc(0), save.after);
      if (!text || entry?.[1] === "120000") inseparable.push(path);
      else if (!original?.equals(text)) overlays.set(path, { kind: "file", data: text, executable: entry?.[1] === "100755" });
    }
    return { overlays, inseparable };
  }

  // Records

  /** Returns the turns of a thread, the oldest first. */
  turns = (threadId: string): Promise<Record[]> => this.enqueue(() => this.records(`refs/turns/${refKey(threadId)}`));

  /** Returns the complete undos and restores, the oldest first. */
  undos = (): Promise<Record[]> => this.enqueue(async () => (await this.records("refs/undo")).filter((record) => !record.writing));

  /** Returns the undos and restores that a closed window has left incomplete, the oldest first. It deletes their temporary files. */
  interrupted = (): Promise<Interrupted[]> => this.enqueue(() => this.leftRecords());

  private async leftRecords(): Promise<Interrupted[]> {
    const isWritten = ({ ref, owner }: Record): boolean => (owner === ownId ? beingWritten.has(ref) : isAlive(owner));
    const left = (await this.records("refs/undo")).filter((record) => record.writing && !isWritten(record));
    const interrupted: Interrupted[] = [];
    for (const record of left) interrupted.push(await this.progress(record));
    return interrupted;
  }

  private async progress(record: Record): Promise<Interrupted> {
    const [written, missing]: [string[], string[]] = [[], []];
    for (const { path, after } of (await this.compare(record)).files) {
      (isSame(await this.read(path), after) ? written : missing).push(path);
      await removeLeft(this.root, path, record.owner);
    }
    return { record, written, missing };
  }

  /** Leaves the files of an interrupted undo or restore as they are. */
  settle = (record: Record): Promise<void> => this.enqueue(() => this.snapshots.deleteRefs([`${record.ref}/writing`]));

  /** Deletes a record. */
  forget = (record: Record): Promise<void> => this.enqueue(() => this.snapshots.deleteRefs(sidesOf(record.ref)));

  /** Returns the snapshots of the records below a prefix. */
  private async sides(prefix: string): Promise<Map<string, Sides>> {
    const refs = new Map<string, Sides>();
    for (const line of (await this.git.line(["for-each-ref", "--format=%(objectname) %(refname)", prefix])).split("\n")) {
      const [, oid, ref, side] = /^(\w+) (.*)\/(before|after|writing)$/.exec(line) ?? [];
      if (ref !== undefined) refs.set(ref, { ...refs.get(ref), [side!]: oid });
    }
    return refs;
  }

  private async records(prefix: string): Promise<Record[]> {
    const records: Record[] = [];
    for (const [ref, { before, after, writing }] of await this.sides(prefix)) {
      if (before === undefined || after === undefined) continue;
      records.push({ ...emptyRecord, ...(await this.snapshots.meta(before)), ref, before, after, writing: writing !== undefined });
    }
    return records.sort((a, b) => a.time - b.time);
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
    const contents = await this.snapshots.contents(found.flatMap(({ sides }) => sides.filter(exists).map(([, oid]) => oid)));
    const state = (side: [string, string], known: number | undefined): State => {
      if (!exists(side)) return absent;
      const executable = side[0] === "100755";
      const mode = known ?? record.usualModes[executable ? 1 : 0] ?? undefined;
      return { kind: side[0] === "120000" ? "link" : "file", data: contents.get(side[1])!, executable, ...(mode !== undefined && { mode }) };
    };
    const [modes, newModes] = [new Map(record.modes), new Map(record.newModes)];
    const files: ChangedFile[] = [];
    for (const { path, sides } of found) {
      const [before, after] = [state(sides[0]!, modes.get(path)), state(sides[1]!, newModes.get(path))];
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

  /** Plans the completion of an interrupted undo or restore. */
  planFinish(record: Record): Promise<Plans> {
    return this.enqueue(async () => {
      const { files, uncovered } = await this.compare(record);
      const plans: Plan[] = [];
      for (const { path, before, after } of files) plans.push(await this.plan(path, [{ base: before, target: after, inseparable: false }]));
      return { plans, uncovered, keeps: new Set(record.empty) };
    });
  }

  /**
   * Writes plans, between two snapshots. It throws and writes nothing without them. A plan whose write fails is refused.
   * undoOf: the record that the plans undo. Returns the record of the undo, if something was written.
   */
  apply(plans: Plans, undoOf?: Record): Promise<Record | undefined> {
    return this.enqueue(async () => {
      const ref = await this.writePlans(plans);
      if (ref === undefined) return undefined;
      if (undoOf) await this.snapshots.deleteRefs(sidesOf(undoOf.ref));
      return (await this.records(ref))[0];
    });
  }

  /** Writes the plans that complete an interrupted record. The record then has them too. */
  finish(plans: Plans, record: Record): Promise<void> {
    return this.enqueue(async () => {
      const ref = await this.writePlans(plans);
      if (ref !== undefined) await this.snapshots.deleteRefs([...sidesOf(ref), `${record.ref}/writing`]);
    });
  }

  /**
   * Returns the ref of the new record, if something was written. Both snapshots are complete before the first write, so
   * that nothing is lost if the window is closed. They have only the files of the plans: other programs may write too.
   */
  private async writePlans({ plans, keeps }: Plans): Promise<string | undefined> {
    const isDeletion = (plan: Plan): number => (plan.result.kind === "absent" ? 0 : 1);
    // Deletions come first, so that a file can replace a folder.
    const list = plans.filter(({ verdict }) => verdict === "restored" || verdict === "merged").sort((a, b) => isDeletion(a) - isDeletion(b));
    if (list.length === 0) return undefined;
    const states = (side: "seen" | "result", of: Plan[]): Map<string, State> => new Map(of.map((plan) => [plan.path, plan[side]]));
    const time = Date.now();
    const ref = `refs/undo/${time}-${randomBytes(4).toString("hex")}`;
    const modes = (side: "seen" | "result"): Record["modes"] => list.flatMap(({ path, [side]: { mode } }): Record["modes"] => (mode === undefined ? [] : [[path, mode]]));
    const meta = { time, owner: this.owner, empty: [...keeps], modes: modes("seen"), newModes: modes("result") };
    await this.snapshots.updateIndex();
    const before = await this.snapshots.overlay(await this.snapshots.commit({}), states("seen", list), meta);
    const after = await this.snapshots.overlay(before, states("result", list), meta);
    beingWritten.add(ref);
    try {
      await this.git.run(["update-ref", "--stdin"], [before, after, before].map((commit, i) => `create ${sidesOf(ref)[i]!} ${commit}\n`).join(""));
      const written = await this.writeFiles(list, keeps);
      if (written.length === 0) return void (await this.snapshots.deleteRefs(sidesOf(ref)));
      // The record with all of them is safe too.
      if (written.length < list.length) await this.snapshots.overlay(before, states("result", written), meta).then((commit) => this.snapshots.setRef(`${ref}/after`, commit)).catch(() => undefined);
      await this.snapshots.deleteRefs([`${ref}/writing`]);
      return ref;
    } finally {
      beingWritten.delete(ref);
    }
  }

  /** Returns the plans that were written. */
  private async writeFiles(plans: Plan[], keeps: ReadonlySet<string>): Promise<Plan[]> {
    const files = this.toFiles(this.root);
    const written: Plan[] = [];
    for (const plan of plans) {
      try {
        await files.write(plan.path, plan.seen, plan.result, keeps);
        written.push(plan);
      } catch (cause) {
        Object.assign(plan, { verdict: "refused", reason: (cause as Error).message, result: plan.seen });
      }
    }
    return written;
  }

  /** Leaves the index to the next process. */
  close(): Promise<void> {
    return this.queue.then(() => this.snapshots.close()).catch(() => undefined);
  }
}
