// Files as a person reads them: those of the folder without it, all others whole, so that a change elsewhere can be seen as one.
import { relative } from "../src/core/relative";

let folder = "";

export function setFolder(path: string): void {
  folder = path;
}

export const shown = (path: string): string => relative(folder, path);
