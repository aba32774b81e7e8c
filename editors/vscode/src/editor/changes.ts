// The changes of each turn under control: a snapshot before and after it, the card of its changes, undo and restore.
import { readFile, realpath } from "node:fs/promises";
import { relative } from "node:path";
import * as vscode from "vscode";
import { escapeLinks } from "../core/approvalNotification";
import { Checkpoint } from "../core/checkpoint";
import type { ChangesEntry, Decided, TurnFile } from "../core/entry";
import { isSame } from "../core/fileState";
import { isBelow } from "../core/git";
import * as strings from "../core/strings/changes";
import { relativeTime, visibleLine, visibleValue } from "../core/text";
import { hunkState, toTurnHunks, type ChangedFile, type Interrupted, type Plan, type Plans, type Record, type Save } from "../core/turnRecord";
import type { ChangeAction } from "../view/messages";
import { EditorFiles } from "./editorFiles";
import { changeScheme, TurnDiffs } from "./turnDiffs";

const limit = 10_000; // a message waits no longer for its snapshot
const maxLoaded = 3; // turns whose contents stay in memory
const hunkPage = 50; // the hunks that are unfolded at once

export interface ChangesHost {
  isRunning(): boolean;
  /** Shows a changed card in the chat of a thread. */
  update(threadId: string, entry: ChangesEntry): void;
}

interface Pending {
  folder: string;
  /** The snapshot is taken, or failed. */
  settled: boolean;
  before: Promise<string | undefined>;
  saves: Save[];
}

interface Turn {
  folder: string;
  threadId: string;
  record: Record;
  entry: ChangesEntry;
  paths: string[];
  /** The hunks of each file that are undone, and those that are kept. */
  undone: Set<number>[];
  kept: Set<number>[];
  /** undefined: to be read again. */
  files: ChangedFile[] | undefined;
}

/** The file or hunk that the user undid. */
interface Undo {
  turn: Turn;
  index: number;
  hunk: number | undefined;
}

export class TurnChanges implements vscode.Disposable {
  /** The stores, by folder. */
  private readonly stores = new Map<string, Checkpoint>();
  private readonly pending = new Map<string, Pending>();
  private readonly turns = new Map<string, Turn>();
  private loaded: Turn[] = [];
  private readonly undos = new Map<string, Undo>(); // by the ref of its record
  private readonly warned = new Set<string>();
  /** The folders whose first snapshot is taken. */
  private readonly warmed = new Set<string>();
  private readonly diffs = new TurnDiffs();
  /** Undos are done one after the other: each is planned with the result of the one before. */
  private undoing: Promise<unknown> = Promise.resolve();
  private readonly subscriptions: vscode.Disposable[] = [];

  /** parent: the folder of the stores; undefined: VS Code has none. */
  constructor(private readonly host: ChangesHost, private readonly parent: string | undefined) {
    if (parent === undefined) return;
    const old = new Map<string, Buffer | undefined>();
    this.subscriptions.push(
      vscode.workspace.registerTextDocumentContentProvider(changeScheme, this.diffs),
      vscode.workspace.onWillSaveTextDocument(({ document, waitUntil }) => {
        const { fsPath } = document.uri;
        if (this.pending.size > 0) waitUntil(readFile(fsPath).catch(() => undefined).then((data) => void old.set(fsPath, data)));
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.diffs.closed(uri)),
      vscode.workspace.onDidSaveTextDocument(({ uri: { fsPath } }) => void this.saved(fsPath, old)),
    );
  }

  dispose(): void {
    for (const one of this.subscriptions) one.dispose();
    for (const store of this.stores.values()) void store.close();
  }

  private store(folder: string): Checkpoint {
    if (this.parent === undefined) throw new Error(strings.changes.notInFolder);
    const store = this.stores.get(folder) ?? new Checkpoint(folder, this.parent, (root) => new EditorFiles(root, folder));
    this.stores.set(folder, store);
    return store;
  }

  private async saved(path: string, old: Map<string, Buffer | undefined>): Promise<void> {
    const real = await realpath(path).catch(() => path);
    if (!old.has(path)) return;
    const before = old.get(path);
    old.delete(path);
    const pending = [...this.pending.values()];
    const after = await readFile(path).catch(() => undefined);
    if (!after) return;
    for (const { folder, saves } of pending) {
      const root = this.stores.get(folder)?.root;
      if (root !== undefined && isBelow(real, root)) saves.push({ path: relative(root, real), before, after });
    }
  }

  /** Takes the first snapshot, so that later ones are quick, and asks about the restores that a closed window has left. */
  async warm(folder: string): Promise<void> {
    if (this.parent === undefined || this.warmed.has(folder)) return;
    this.warmed.add(folder);
    try {
      for (const interrupted of await this.store(folder).warm()) void this.askInterrupted(folder, interrupted);
    } catch (cause) {
      this.warmed.delete(folder);
      throw cause;
    }
  }

  /** Takes the snapshot before a turn. Returns why there is none, once for each thread and reason. */
  async beforeTurn(folder: string, threadId: string, text: string): Promise<string> {
    if (this.parent === undefined) return "";
    const other = this.pending.get(threadId);
    if (other && !other.settled) {
      await other.before; // a second message of the same turn
      return "";
    }
    let why = "";
    let timer: NodeJS.Timeout | undefined;
    const slow = new Promise<undefined>((done) => {
      timer = setTimeout(() => {
        why = strings.changes.tooSlow(limit / 1000);
        done(undefined);
      }, limit);
    });
    const taken = Promise.resolve().then(() => this.store(folder).before(text)).catch((cause: Error) => {
      why = cause.message;
      return undefined;
    });
    const before = Promise.race([taken, slow]);
    const pending: Pending = { folder, settled: false, before, saves: [] };
    this.pending.set(threadId, pending);
    await before;
    pending.settled = true;
    clearTimeout(timer);
    const warning = `${threadId}\n${why}`;
    if (why === "" || this.warned.has(warning)) return "";
    this.warned.add(warning);
    return why;
  }

  /** Records that a turn has begun, so that its changes are known if the window closes. */
  async began(threadId: string, turnId: string): Promise<void> {
    const pending = this.pending.get(threadId);
    const before = await pending?.before;
    if (pending && before !== undefined && this.pending.has(threadId)) await this.store(pending.folder).begin(threadId, turnId, before).catch(() => undefined); // its end says why
  }

  /** Takes the snapshot after a turn. patched: the files of its patches. Returns the card of its changes; undefined without a snapshot. */
  async afterTurn(threadId: string, turnId: string, patched: string[] = []): Promise<ChangesEntry | undefined> {
    const pending = this.pending.get(threadId);
    this.pending.delete(threadId);
    const before = await pending?.before;
    if (!pending || before === undefined) return undefined;
    const { folder } = pending;
    const store = this.store(folder);
    const record = await store.after(threadId, turnId, before, pending.saves);
    const { files, uncovered, differ } = await store.changes(record);
    const all = new Set([...(differ ? uncovered : []), ...(await store.missing(record, patched))]);
    const entry: ChangesEntry = { kind: "changes", id: `changes-${turnId}`, phase: "recorded", files: files.map(toTurnFile), uncovered: [...all].sort().map(visibleValue) };
    if (!differ) return entry;
    const turn = { folder, threadId, record, files, entry, paths: files.map((file) => file.path), undone: files.map((file) => file.undone), kept: files.map(() => new Set<number>()) };
    this.turns.set(entry.id, turn);
    this.keep(turn);
    return entry;
  }

  /** Keeps the contents of the turns that were used last. */
  private keep(turn: Turn): void {
    this.loaded = [turn, ...this.loaded.filter((one) => one !== turn)];
    for (const old of this.loaded.splice(maxLoaded)) old.files = undefined;
  }

  private async filesOf(turn: Turn): Promise<ChangedFile[]> {
    turn.files ??= (await this.store(turn.folder).changes(turn.record)).files.map((file, i) => ({ ...file, undone: turn.undone[i]! }));
    this.keep(turn);
    return turn.files;
  }

  /** Runs a button of a card, of a file, or of a hunk. */
  async act(id: string, index: number, action: ChangeAction, hunk?: number): Promise<void> {
    const turn = this.turns.get(id);
    if (!turn) return;
    if (action === "restore") return this.restoreTo(turn.folder, turn.threadId, turn.record);
    const files = await this.filesOf(turn);
    if (action === "all") return this.showAll(turn.folder, turn.record, files);
    const file = files[index];
    if (!file || (hunk !== undefined && !file.hunks?.[hunk])) return;
    if (action === "diff") await this.diffs.show(turn.folder, file.path, file.before, file.after);
    else if (action === "hunks") this.unfold(turn, index, file);
    else if (action === "undo") await this.undo(turn, index, hunk);
    else if (hunk === undefined) this.mark(turn, index, "kept");
    else this.keepHunk(turn, index, hunk);
  }

  private mark(turn: Turn, index: number, state: Decided): void {
    const file = turn.entry.files[index]!;
    const parts = file.parts.map((part, i) => ({ ...part, state: hunkState(i, state, turn.undone[index]!, turn.kept[index]!) }));
    this.setFile(turn, index, { ...file, state, parts });
  }

  private setFile(turn: Turn, index: number, changed: TurnFile): void {
    turn.entry = { ...turn.entry, files: turn.entry.files.map((file, i) => (i === index ? changed : file)) };
    this.host.update(turn.threadId, turn.entry);
  }

  /** Shows the first hunks of a file, or more of them. */
  private unfold(turn: Turn, index: number, file: ChangedFile): void {
    const shown = turn.entry.files[index]!;
    this.setFile(turn, index, { ...shown, parts: toTurnHunks(file, shown.parts.length + hunkPage, shown.state, turn.kept[index]!) });
  }

  private keepHunk(turn: Turn, index: number, hunk: number): void {
    if (!turn.undone[index]!.has(hunk)) turn.kept[index]!.add(hunk);
    this.markHunks(turn, index);
  }

  /** Marks a file after a hunk was kept or undone: with the last one the whole file is. */
  private markHunks(turn: Turn, index: number): void {
    const { hunks, state } = turn.entry.files[index]!;
    const [undone, kept] = [turn.undone[index]!, turn.kept[index]!];
    this.mark(turn, index, undone.size === hunks ? "undone" : undone.size + kept.size === hunks ? "kept" : state);
  }

  /** Undoes a file, or one of its hunks. */
  private async undo(turn: Turn, index: number, hunk?: number): Promise<void> {
    const done = this.undoing.then(() => this.writeUndo(turn, index, hunk));
    this.undoing = done.catch(() => undefined);
    const plan = await done;
    if (!plan) return;
    const path = visibleValue(plan.path);
    if (plan.verdict === "conflict" || plan.verdict === "refused") {
      const text = strings.changes.notUndone(path, plan.reason);
      if (!(await vscode.window.showWarningMessage(escapeLinks(text), strings.changes.openDiff))) return;
      return this.diffs.show(turn.folder, plan.path, (await this.filesOf(turn))[index]!.before, plan.seen);
    }
    void vscode.window.showInformationMessage(escapeLinks(plan.verdict === "merged" && hunk === undefined ? strings.changes.undoneMerged(path) : strings.changes.undone(path)));
  }

  /** Writes an undo, unless it is done already. Returns its plan. */
  private writeUndo(turn: Turn, index: number, hunk?: number): Promise<Plan | undefined> {
    return this.guarded(async () => {
      if (turn.entry.files[index]!.state === "undone" || (hunk !== undefined && turn.undone[index]!.has(hunk))) return undefined;
      const file = (await this.filesOf(turn))[index]!;
      const store = this.store(turn.folder);
      const made = await store.planFile(turn.record, file, hunk);
      const record = await store.apply(made);
      if (record) this.undos.set(record.ref, { turn, index, hunk });
      const plan = made.plans[0]!;
      if (plan.verdict === "conflict" || plan.verdict === "refused") return plan;
      if (hunk === undefined) {
        this.mark(turn, index, "undone");
      } else {
        file.undone.add(hunk);
        turn.kept[index]!.delete(hunk);
        this.markHunks(turn, index);
      }
      return plan;
    });
  }

  // All changes of a turn

  /** Shows all changes of the last turn of a thread. */
  async showLast(folder: string, threadId: string | undefined): Promise<void> {
    try {
      const record = threadId === undefined ? undefined : (await this.store(folder).turns(threadId)).at(-1);
      if (!record) return void vscode.window.showInformationMessage(strings.changes.noRestorePoints);
      await this.showAll(folder, record, (await this.store(folder).changes(record)).files);
    } catch (cause) {
      void vscode.window.showWarningMessage(escapeLinks(visibleLine((cause as Error).message)));
    }
  }

  private async showAll(folder: string, record: Record, files: ChangedFile[]): Promise<void> {
    const unchanged = new Set<string>();
    for (const { path, after } of files) {
      const now = await this.store(folder).read(path);
      if (now.kind === "file" && !now.unsaved && isSame(now, after)) unchanged.add(path);
    }
    await this.diffs.showAll(folder, strings.changes.allTitle(visibleLine(record.text)), files, unchanged);
  }

  // Restore

  /** Lets the user choose a turn of a thread, and restores to before it. */
  async restore(folder: string, threadId: string | undefined): Promise<void> {
    await this.guarded(async () => {
      const records = threadId === undefined ? [] : await this.store(folder).turns(threadId);
      if (records.length === 0) return void vscode.window.showInformationMessage(strings.changes.noRestorePoints);
      const items = records.toReversed().map((record) => ({
        label: visibleLine(record.text), description: relativeTime(record.time, Date.now()), ...(record.unfinished && { detail: strings.changes.unfinished }), record,
      }));
      const picked = await vscode.window.showQuickPick(items, { title: strings.changes.restore });
      if (picked && threadId !== undefined) await this.restoreTo(folder, threadId, picked.record);
    });
  }

  private async restoreTo(folder: string, threadId: string, record: Record): Promise<void> {
    await this.guarded(async () => {
      const records = (await this.store(folder).turns(threadId)).filter((one) => one.time >= record.time);
      const plans = await this.store(folder).planRecords(records);
      if (!(await this.confirm(folder, plans, strings.changes.restore))) return;
      await this.write(plans, () => this.store(folder).apply(plans));
      for (const turn of this.turns.values()) {
        if (turn.threadId !== threadId || turn.record.time < record.time) continue;
        for (const plan of plans.plans) {
          const index = turn.paths.indexOf(plan.path);
          if (index >= 0 && plan.verdict !== "conflict" && plan.verdict !== "refused") this.mark(turn, index, "undone");
        }
      }
    });
  }

  /** Undoes the last undo or restore in a folder. */
  async undoRestore(folder: string): Promise<void> {
    await this.guarded(async () => {
      const store = this.store(folder);
      const left = (await store.interrupted()).at(-1);
      if (left) {
        const { finish, takeBack, leave, undoRestore } = strings.changes;
        const choice = await vscode.window.showQuickPick([finish, takeBack, leave], { title: undoRestore, placeHolder: toText(left) });
        return choice === undefined ? undefined : this.settle(folder, left.record, choice);
      }
      const last = (await store.undos()).at(-1);
      if (!last) return void vscode.window.showInformationMessage(strings.changes.nothingToUndo);
      const plans = await store.planRecords([last]);
      if (!(await this.confirm(folder, plans, strings.changes.undoRestore))) return;
      await this.write(plans, () => store.apply(plans, last));
      const back = new Set(plans.plans.filter(isDone).map((plan) => plan.path));
      const undo = this.undos.get(last.ref);
      if (undo) {
        const { turn, index, hunk } = undo;
        if (!back.has(turn.paths[index]!)) return;
        if (hunk !== undefined) turn.undone[index]!.delete(hunk);
        this.mark(turn, index, "");
        return;
      }
      for (const turn of this.turns.values()) {
        if (turn.folder !== folder) continue;
        turn.paths.forEach((path, index) => {
          const { hunks, state } = turn.entry.files[index]!;
          if (back.has(path) && state === "undone" && (hunks === 0 || turn.undone[index]!.size < hunks)) this.mark(turn, index, "");
        });
      }
    });
  }

  private async askInterrupted(folder: string, interrupted: Interrupted): Promise<void> {
    const { finish, takeBack, leave } = strings.changes;
    const choice = await vscode.window.showWarningMessage(escapeLinks(toText(interrupted)), finish, takeBack, leave);
    if (choice !== undefined) await this.guarded(() => this.settle(folder, interrupted.record, choice));
  }

  /** Finishes an interrupted restore, takes it back, or leaves the files as they are. */
  private async settle(folder: string, record: Record, choice: string): Promise<void> {
    const store = this.store(folder);
    const isLeft = (await store.interrupted()).some((one) => one.record.ref === record.ref);
    if (!isLeft) return void vscode.window.showInformationMessage(strings.changes.nothingToUndo); // by another window
    if (choice === strings.changes.leave) {
      await store.settle(record);
      return void vscode.window.showInformationMessage(strings.changes.left);
    }
    const isFinish = choice === strings.changes.finish;
    const plans = isFinish ? await store.planFinish(record) : await store.planRecords([record]);
    if (plans.plans.every(({ verdict }) => verdict === "same")) await (isFinish ? store.settle(record) : store.forget(record));
    if (!(await this.confirm(folder, plans, isFinish ? strings.changes.finishTitle : strings.changes.undoRestore))) return;
    await this.write(plans, () => (isFinish ? store.finish(plans, record) : store.apply(plans, record)));
  }

  /** Shows what a restore does to each file, and asks. A chosen file is shown as a diff. */
  private async confirm(folder: string, plans: Plans, title: string): Promise<boolean> {
    const changed = plans.plans.filter(isDone).length;
    if (changed === 0 && plans.plans.every((plan) => plan.verdict === "same") && plans.uncovered.length === 0) {
      void vscode.window.showInformationMessage(strings.changes.nothingToRestore);
      return false;
    }
    const items: (vscode.QuickPickItem & { plan?: Plan; isRestore?: boolean })[] = [
      ...(changed > 0 ? [{ label: strings.changes.restoreButton, description: strings.changes.title(changed), isRestore: true }] : []),
      ...plans.plans.map((plan) => ({ label: visibleValue(plan.path), description: [strings.changes.verdicts[plan.verdict], plan.reason].filter(Boolean).join(": "), plan })),
      ...plans.uncovered.map((path) => ({ label: strings.changes.notCovered(visibleValue(path)) })),
    ];
    const picked = await vscode.window.showQuickPick(items, { title });
    if (picked?.plan) await this.diffs.show(folder, picked.plan.path, picked.plan.seen, picked.plan.result);
    if (!picked?.isRestore) return false;
    const answer = await vscode.window.showWarningMessage(title, { modal: true, detail: strings.changes.title(changed) }, strings.changes.restoreButton);
    return answer === strings.changes.restoreButton;
  }

  /** Writes plans by apply. Throws while a turn runs. */
  private async write(plans: Plans, apply: () => Promise<unknown>): Promise<void> {
    if (this.host.isRunning()) throw new Error(strings.changes.whileRunning); // it may have started during the question
    await apply();
    const not = plans.plans.filter((plan) => !isDone(plan) && plan.verdict !== "same").length;
    void vscode.window.showInformationMessage(strings.changes.restored(plans.plans.filter(isDone).length, not));
  }

  /** Does something that writes, unless a turn runs. Shows why it can't. */
  private async guarded<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      if (this.host.isRunning()) throw new Error(strings.changes.whileRunning);
      return await work();
    } catch (cause) {
      void vscode.window.showWarningMessage(escapeLinks(visibleLine((cause as Error).message)));
      return undefined;
    }
  }
}

const isDone = (plan: Plan): boolean => plan.verdict === "restored" || plan.verdict === "merged";

const toText = ({ written, missing }: Interrupted): string => strings.changes.interrupted(written.map(visibleValue), missing.map(visibleValue));

function toTurnFile(file: ChangedFile): TurnFile {
  const sum = (side: "added" | "removed"): number => (file.hunks ?? []).reduce((all, hunk) => all + hunk[side], 0);
  const kind = file.before.kind === "absent" ? "add" : file.after.kind === "absent" ? "delete" : "update";
  const notes = [file.hunks ? "" : strings.changes.sizes(file.before.data.length, file.after.data.length), file.saved ? strings.changes.youSaved : ""];
  return { path: visibleValue(file.path), kind, added: sum("added"), removed: sum("removed"), note: notes.filter(Boolean).join(", "), hunks: file.hunks?.length ?? 0, parts: [], state: "" };
}
