// Collects the ignore patterns that hold in a folder, beside the .gitignore files in it: those of the user, of the
// repository around it, and of the folders above it. Files are only read.
import { readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { isBelow } from "./git";

const maxSize = 1024 * 1024;

/** Returns the content of a regular file of at most 1 MB, else "". */
function read(file: string): string {
  try {
    const info = statSync(file);
    return info.isFile() && info.size <= maxSize ? readFileSync(file, "utf8") : "";
  } catch {
    return "";
  }
}

/** Returns the folder of the repository that contains root, and its git folder. */
function repository(root: string): { top: string; git: string } | undefined {
  for (let top = root; ; top = dirname(top)) {
    const git = join(top, ".git");
    const info = statSync(git, { throwIfNoEntry: false });
    if (info?.isDirectory()) return { top, git };
    const link = /^gitdir: ([^\n]+)/.exec(read(git))?.[1];
    if (link !== undefined) {
      const admin = resolve(top, link);
      return { top, git: resolve(admin, read(join(admin, "commondir")).trim()) };
    }
    if (dirname(top) === top) return undefined;
  }
}

/** Reports whether a component of a pattern matches a name. */
function matches(pattern: string, name: string): boolean {
  const escaped = pattern.replaceAll(/[.+^${}()|]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".").replaceAll("[!", "[^");
  try {
    return new RegExp(`^${escaped}$`).test(name);
  } catch {
    return false;
  }
}

/** Returns a pattern of a folder as a pattern of the folder below it that path names; undefined if it does not reach there. */
export function rebase(line: string, path: string): string | undefined {
  const [, negated = "", pattern = ""] = /^(!?)(.*?)\r?$/.exec(line) ?? [];
  if (pattern === "" || pattern.startsWith("#")) return undefined;
  const body = pattern.replace(/\/\s*$/, "");
  if (!body.includes("/") || /^\/?\*\*\//.test(pattern) || path === "") return negated + pattern; // it holds at every depth
  let rest = pattern.replace(/^\//, "");
  for (const name of path.split("/")) {
    const [, first, after] = /^([^/]+)\/(.+)$/.exec(rest) ?? [];
    if (first === "**") return `${negated}**/${after}`;
    if (first === undefined || !matches(first, name)) return undefined;
    rest = after!;
  }
  return `${negated}/${rest}`;
}

/** Returns the text of info/exclude. userFile: the user's core.excludesFile. */
export function excludes(root: string, userFile: string, store: string): string {
  const lines: string[] = [];
  const add = (text: string, path: string): void => {
    for (const line of text.split("\n")) {
      const pattern = rebase(line, path);
      if (pattern !== undefined) lines.push(pattern);
    }
  };
  add(read(userFile), "");
  const around = repository(root);
  if (around) {
    const below = (folder: string): string => relative(folder, root).replaceAll("\\", "/");
    add(read(join(around.git, "info", "exclude")), below(around.top));
    let folder = around.top;
    for (const name of below(around.top).split("/").filter(Boolean)) {
      add(read(join(folder, ".gitignore")), below(folder));
      folder = join(folder, name);
    }
  }
  if (isBelow(store, root)) lines.push(`/${relative(root, dirname(store)).replaceAll(/[*?[\]\\! ]/g, "\\$&")}/`); // the store never contains itself
  return `${lines.join("\n")}\n`;
}
