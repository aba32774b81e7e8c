// The card of a turn's changes: the files so far while it runs, and what its snapshots record at its end.
import { message } from "./connection";
import type { ChangesEntry } from "./entry";
import type { SessionHost } from "./sessionHost";
import * as strings from "./strings/changes";
import { visibleValue } from "./text";
import type { Transcript } from "./transcript";
import { parseTurnDiff } from "./turnDiff";

export class TurnCard {
  /** The card of the running turn, and the paths of its files. */
  private soFar: ChangesEntry | undefined;
  private patched: string[] = [];

  constructor(
    private readonly host: SessionHost,
    private readonly transcript: Transcript,
  ) {}

  /** Shows the files that the running turn has patched so far. */
  show(turnId: string, diff: string): void {
    const changed = parseTurnDiff(diff, this.host.cwd);
    this.patched = changed.map((file) => file.path);
    const files = changed.map((file) => ({ ...file, path: visibleValue(file.path), note: "", hunks: 0, parts: [], state: "" as const }));
    const entry: ChangesEntry | undefined = files.length > 0 ? { kind: "changes", id: `changes-${turnId}`, phase: "running", files, uncovered: [] } : undefined;
    this.transcript.lastChanges(entry, this.soFar);
    this.soFar = entry;
  }

  /** Takes the snapshot after a turn, and shows what the turn changed. isShown: whether its thread is in the chat. */
  async end(threadId: string, turnId: string, isShown: () => boolean): Promise<void> {
    const { soFar, patched } = this;
    this.soFar = undefined;
    this.patched = [];
    let entry: ChangesEntry | undefined = soFar && { ...soFar, phase: "unrecorded" };
    try {
      entry = (await this.host.afterTurn?.(threadId, turnId, patched)) ?? entry;
    } catch (cause) {
      if (isShown()) this.transcript.notice("warning", strings.changes.noRestorePoint(message(cause)));
    }
    const hasChanges = entry && entry.files.length + entry.uncovered.length > 0;
    if (isShown()) this.transcript.lastChanges(hasChanges ? entry : undefined, soFar);
  }
}
