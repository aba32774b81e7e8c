// The edit of a patch before it is accepted. The client writes the user's version of the files, and declines Codex's.
import { dirname, relative } from "node:path";
import { message } from "./connection";
import type { Choice } from "./choice";
import { isSame, isValid, type Files, type State } from "./fileState";
import { isBelow } from "./git";
import { toDiffSides } from "./patch";
import type { Change } from "./protocol";
import type { ServerRequest } from "./serverRequest";
import type { Session } from "./session";
import * as strings from "./strings/requests";
import { visibleValue } from "./text";
import { unifiedDiff } from "./unifiedDiff";

/** A file of a patch. path is relative to the folder. seen: its state when Codex's version was computed. */
export interface EditedFile {
  path: string;
  seen: State;
  proposal: string;
  text: string;
}

/** Returns the paths of a patch below one of the folder's names; undefined if one of them is not. */
function pathsIn(changes: Change[], roots: string[]): string[] | undefined {
  const paths = changes.map(({ path }) => roots.filter((root) => isBelow(path, root)).map((root) => relative(root, path))[0] ?? "");
  return paths.every(isValid) && new Set(paths).size === paths.length ? paths : undefined;
}

/**
 * Returns why the user can't edit a patch; "" if they can, or if the request has none. A patch can be edited if it adds and
 * updates files of the folder, in the sandbox. roots: the names of the folder.
 */
export function whyNotEditable(request: ServerRequest, changes: Change[], roots: string[]): string {
  const hasText = ({ kind }: Change): boolean => kind.type === "add" || (kind.type === "update" && !kind.move_path);
  if (request.kind !== "patch") return "";
  if (request.leaves !== "") return strings.edit.whyNot.leaves;
  if (changes.length === 0 || request.turnId === "" || !request.choices.includes("accept")) return strings.edit.whyNot.content;
  if (!changes.every(hasText)) return strings.edit.whyNot.text;
  return pathsIn(changes, roots) === undefined ? strings.edit.whyNot.outside : "";
}

/** Computes Codex's version of the files. Throws if an editor can't have exactly these texts. */
export async function readProposal(files: Files, changes: Change[], roots: string[]): Promise<EditedFile[]> {
  const paths = pathsIn(changes, roots) ?? [];
  return Promise.all(changes.map(async (change, i) => {
    const path = paths[i] ?? "";
    const seen = await files.read(path);
    const name = visibleValue(path);
    if (seen.unsaved) throw new Error(strings.edit.unsaved(name));
    if (seen.kind !== "file" && seen.kind !== "absent") throw new Error(strings.edit.notText(name));
    const { after, doesNotApply } = toDiffSides(change, seen.data.toString());
    if (doesNotApply) throw new Error(strings.edit.doesNotApply(name));
    if (!Buffer.from(seen.data.toString()).equals(seen.data) || [seen.data.toString(), after].some((text) => /[\0\r]|^\uFEFF/.test(text))) throw new Error(strings.edit.notText(name));
    return { path, seen, proposal: after, text: after };
  }));
}

type Answering = Pick<Session, "call" | "answer" | "pendingRequests">;

/**
 * Answers a request with the user's version of a patch. Without an edit that is a plain accept. Otherwise it writes the
 * files, tells the model, and declines Codex's version; in this order, so that the model's next request has both.
 * Measured with Codex 0.169: turn/steer succeeds while the approval is open, and its text follows the tool's output.
 * Throws, and leaves the files and the request as they are, if one of the steps fails.
 */
export async function acceptEdited(session: Answering, id: string, choice: Choice, edited: EditedFile[], files: Files): Promise<void> {
  const find = (): ServerRequest | undefined => session.pendingRequests.list().find((one) => one.id === id);
  const request = find();
  if (!request) throw new Error(strings.edit.notPending);
  if (edited.every((file) => file.text === file.proposal)) return void session.answer(id, choice, {});
  const takeBack = await writeAll(files, edited);
  if (!find()) {
    await takeBack();
    throw new Error(strings.edit.notPending);
  }
  try {
    const input = [{ type: "text", text: toMessage(edited), text_elements: [] }];
    await session.call("turn/steer", { threadId: request.threadId, expectedTurnId: request.turnId, input });
  } catch (cause) {
    await takeBack();
    throw new Error(strings.edit.notAccepted(message(cause)), { cause });
  }
  if (!session.answer(id, "decline", {})) throw new Error(strings.edit.answeredMeanwhile);
}

const target = ({ seen, text }: EditedFile): State => ({ ...seen, kind: "file", data: Buffer.from(text) });

/** Writes all files or none. Returns a function that takes the writes back. */
async function writeAll(files: Files, edited: EditedFile[]): Promise<() => Promise<void>> {
  const keeps = new Set<string>();
  for (const file of edited) {
    if (!isSame(await files.read(file.path), file.seen)) throw new Error(strings.edit.changedMeanwhile(visibleValue(file.path)));
    for (let folder = dirname(file.path); folder !== "."; folder = dirname(folder)) if ((await files.read(folder)).kind === "folder") keeps.add(`${folder}/`);
  }
  const written: EditedFile[] = [];
  const takeBack = async (): Promise<void> => {
    for (const file of written.toReversed()) await files.write(file.path, target(file), file.seen, keeps).catch(() => undefined); // changed again since
  };
  for (const file of edited) {
    try {
      await files.write(file.path, file.seen, target(file), keeps);
    } catch (cause) {
      await takeBack();
      throw new Error(strings.edit.notWritten(visibleValue(file.path), message(cause)), { cause });
    }
    written.push(file);
  }
  return takeBack;
}

/** Returns the text for the model: what the user changed in its version. */
function toMessage(edited: EditedFile[]): string {
  const diff = edited.map(({ path, proposal, text }) => unifiedDiff(path, proposal, text)).join("");
  const ticks = Math.max(2, ...[...diff.matchAll(/`+/g)].map(([run]) => run.length)) + 1;
  return strings.edit.toModel(`${"`".repeat(ticks)}diff\n${diff}${"`".repeat(ticks)}`);
}
