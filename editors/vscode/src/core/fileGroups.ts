// Groups the files of a patch or a turn by folder, so that a card stays short. The Neovim plugin has the same rules in
// groups.lua.

export interface Counted {
  added: number;
  removed: number;
}

/** The files of a folder, with the positions of the files in the whole list. */
export interface FileGroup<T> extends Counted {
  folder: string;
  files: { file: T; index: number }[];
}

/** So many files need no groups. */
export const maxFlat = 10;

const maxGroups = 20;

/** Groups files by folder; undefined if there are few. Many folders are joined to those above them. pathOf: relative to the folder of the chat. */
export function groupFiles<T extends Counted>(files: T[], pathOf: (file: T) => string): FileGroup<T>[] | undefined {
  if (files.length <= maxFlat) return undefined;
  const folders = files.map((file) => pathOf(file).split(/[\\/]/).slice(0, -1));
  let depth = Math.max(...folders.map((parts) => parts.length));
  const folderOf = (parts: string[]): string => parts.slice(0, depth).join("/");
  while (depth > 1 && new Set(folders.map(folderOf)).size > maxGroups) depth--;
  const groups = new Map<string, FileGroup<T>>();
  files.forEach((file, index) => {
    const folder = folderOf(folders[index]!);
    const group = groups.get(folder) ?? { folder, files: [], added: 0, removed: 0 };
    groups.set(folder, group);
    group.files.push({ file, index });
    group.added += file.added;
    group.removed += file.removed;
  });
  return [...groups.values()];
}
