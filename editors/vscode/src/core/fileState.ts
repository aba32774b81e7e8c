// The states of files in a folder, and their atomic writes. A write never leaves the folder, and never replaces a state
// that the caller has not seen.
import { randomBytes } from "node:crypto";
import { chmod, lstat, mkdir, open, readdir, readFile, readlink, realpath, rename, rmdir, symlink, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ownId, temporaryPrefix } from "./owner";
import * as strings from "./strings/changes";

export interface State {
  kind: "absent" | "file" | "link" | "folder" | "special";
  /** The content of a file, or the target of a link. */
  data: Buffer;
  executable: boolean;
  /** The permissions of a file; undefined: not known. */
  mode?: number;
  /** The content is in an editor, and not saved. */
  unsaved?: boolean;
}

const none = Buffer.alloc(0);
const plain = (kind: State["kind"]): State => ({ kind, data: none, executable: false });

export const absent = plain("absent");

export const isSame = (a: State, b: State): boolean => a.kind === b.kind && a.executable === b.executable && a.data.equals(b.data);

export const isExecutable = (mode: number): boolean => (mode & 0o100) !== 0;

/** Reads and writes the files of a folder. */
export interface Files {
  read(path: string): Promise<State>;
  /** Changes a state that was read. Throws, and writes nothing, if it is another one now. keeps: folders that stay when they are empty. */
  write(path: string, seen: State, target: State, keeps: ReadonlySet<string>): Promise<void>;
}

/** Reports whether a path may be written: relative, and not in the folder of a repository. */
export const isValid = (path: string): boolean => path.split("/").every((name) => !["", ".", "..", ".git"].includes(name.toLowerCase()));

async function hasRealParent(root: string, path: string): Promise<boolean> {
  const parent = dirname(join(root, path));
  return (await realpath(parent).catch(() => "")) === parent;
}

/** Deletes the temporary files that a process has left in the folder of a path. */
export async function removeLeft(root: string, path: string, id: string): Promise<void> {
  if (!(await hasRealParent(root, path))) return;
  const folder = dirname(join(root, path));
  for (const name of await readdir(folder).catch(() => [])) if (name.startsWith(temporaryPrefix(id))) await unlink(join(folder, name)).catch(() => undefined);
}

export class DiskFiles implements Files {
  /** root: a real path. */
  constructor(readonly root: string) {}

  async read(path: string): Promise<State> {
    const full = join(this.root, path);
    if (!(await hasRealParent(this.root, path))) return absent;
    const info = await lstat(full).catch(() => undefined);
    if (!info) return absent;
    if (info.isDirectory()) return plain("folder");
    try {
      if (info.isSymbolicLink()) return { kind: "link", data: await readlink(full, { encoding: "buffer" }), executable: false };
      if (info.isFile()) return { kind: "file", data: await readFile(full), executable: isExecutable(info.mode), mode: info.mode & 0o777 };
    } catch {
      // can't be read
    }
    return plain("special");
  }

  async write(path: string, seen: State, target: State, keeps: ReadonlySet<string>): Promise<void> {
    if (!isValid(path)) throw new Error(strings.changes.notInFolder);
    const now = await this.read(path);
    if (now.kind === "folder") throw new Error(strings.changes.isFolder);
    if (now.kind === "special") throw new Error(strings.changes.isSpecial);
    const vacated = seen.kind === "folder" && now.kind === "absent";
    if (!vacated && !isSame(now, seen)) throw new Error(strings.changes.changedMeanwhile);
    if (isSame(now, target)) return;
    if (target.kind === "absent") await this.delete(path, keeps);
    else await this.replace(path, now, target);
  }

  private async delete(path: string, keeps: ReadonlySet<string>): Promise<void> {
    await unlink(join(this.root, path));
    for (let folder = dirname(path); folder !== "." && !keeps.has(`${folder}/`); folder = dirname(folder)) {
      if (!(await rmdir(join(this.root, folder)).then(() => true, () => false))) return;
    }
  }

  private async replace(path: string, now: State, target: State): Promise<void> {
    const full = join(this.root, path);
    let folder = this.root;
    for (const name of path.split("/").slice(0, -1)) {
      folder = join(folder, name);
      await mkdir(folder).catch(() => undefined);
      if (!(await lstat(folder).catch(() => undefined))?.isDirectory()) throw new Error(strings.changes.noParent);
    }
    const temporary = join(dirname(full), temporaryPrefix(ownId) + randomBytes(6).toString("hex"));
    try {
      if (target.kind === "link") {
        await symlink(target.data, temporary);
      } else {
        const known = now.mode ?? target.mode;
        const mode = permissions(known ?? 0o666, target.executable);
        const file = await open(temporary, "wx", mode);
        try {
          await file.writeFile(target.data);
          await file.sync();
        } finally {
          await file.close();
        }
        if (known !== undefined) await chmod(temporary, mode); // also what the umask forbids
      }
      // The content that was merged must still be there, and a folder that became a link must not lead outside.
      if (!(await hasRealParent(this.root, path))) throw new Error(strings.changes.noParent);
      if (!isSame(await this.read(path), now)) throw new Error(strings.changes.changedMeanwhile);
      await rename(temporary, full);
    } catch (cause) {
      await unlink(temporary).catch(() => undefined);
      throw cause;
    }
  }
}

function permissions(mode: number, executable: boolean): number {
  if (executable && !isExecutable(mode)) return mode | ((mode & 0o444) >> 2);
  return executable ? mode : mode & 0o666;
}
