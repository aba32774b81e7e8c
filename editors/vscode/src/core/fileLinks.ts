// Finds the names of files, such as src/main.ts:12, in answers and in the output of tools. The extension checks each
// name; only that of an existing file becomes a link.
export interface Candidate {
  /** The place in the text. */
  at: number;
  text: string;
  path: string;
  /** The line and the column, from 1; 0: none. */
  line: number;
  column: number;
}

const name = /(?<![\w/\\.:@+-])((?:[A-Za-z]:[\\/]|\.{0,2}\/)?[\w@.+-]+(?:[\\/][\w@.+-]+)*)(?::(\d{1,7})(?::(\d{1,5}))?|\((\d{1,7})(?:,\s?(\d{1,5}))?\))?/g;
const maxPath = 512;

/** Returns the names of files with a line, and paths with a folder and an extension. */
export function findFiles(text: string): Candidate[] {
  const found: Candidate[] = [];
  for (const match of text.matchAll(name)) {
    let [whole, path = ""] = match;
    if (path.length > maxPath) continue; // before it is searched
    const line = Number(match[2] ?? match[4] ?? 0);
    if (line === 0) {
      path = path.replace(/[.]+$/, "");
      whole = path;
    }
    const isPath = line > 0 ? /[A-Za-z]/.test(path) : /[\\/][^\\/]*\.[A-Za-z]\w{0,9}$/.test(path);
    if (!isPath) continue;
    found.push({ at: match.index, text: whole, path, line, column: Number(match[3] ?? match[5] ?? 0) });
  }
  return found;
}
