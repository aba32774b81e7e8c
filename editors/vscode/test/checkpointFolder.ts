// A folder with the checkpoints of its turns, by a real git.
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Checkpoint } from "../src/core/checkpoint";
import { DiskFiles } from "../src/core/fileState";
import type { Plans, Record } from "../src/core/turnRecord";
import { tempFolder } from "./tempFolder";

export interface Folder {
  root: string;
  store: Checkpoint;
  parent: string;
  write(path: string, data: string | Buffer): void;
  read(path: string): string;
  /** Runs a turn that changes files, and records it. */
  turn(change: () => void, id?: string): Promise<Record>;
}

export function newFolder(above?: string): Folder {
  const root = tempFolder(above);
  const parent = join(tempFolder(above), "checkpoints");
  const store = new Checkpoint(root, parent, (real) => new DiskFiles(real));
  return {
    root, store, parent,
    write: (path, data) => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), data);
    },
    read: (path) => readFileSync(join(root, path), "latin1"),
    turn: async (change, id = "turn") => {
      const before = await store.before("a message\nsecond line");
      change();
      return store.after("thread", id, before);
    },
  };
}

export const openAgain = ({ root, parent }: Folder): Checkpoint => new Checkpoint(root, parent, (real) => new DiskFiles(real));

/** A process with the id of this one, which ended before it began. */
export const closed = `${process.pid} 1`;

/** Returns all that is below a folder, byte by byte. */
export function tree(root: string): string[] {
  const walk = (folder: string): string[] =>
    readdirSync(join(root, folder)).sort().flatMap((name) => {
      const path = join(folder, name);
      const info = lstatSync(join(root, path));
      if (info.isSymbolicLink()) return [`${path} -> ${readlinkSync(join(root, path))}`];
      if (info.isDirectory()) return [`${path}/`, ...walk(path)];
      return [`${path} ${info.mode & 0o777} ${readFileSync(join(root, path)).toString("hex")}`];
    });
  return walk("");
}

export const verdicts = ({ plans }: Plans): string[] => plans.map((plan) => `${plan.path}: ${plan.verdict}`);
export const numbered = (count: number): string => Array.from({ length: count }, (_, i) => `line ${i + 1}\n`).join("");
