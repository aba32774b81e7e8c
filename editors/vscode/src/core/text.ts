// Formats texts for people: paths, times, code blocks and texts with invisible characters.
/**
 * Text that a person decides by, with what can't be seen written out: control characters, and those that turn
 * the direction of writing or take no room. A command must not look like another one.
 */
export function visible(text: string): string {
  return text.replace(/[^\P{C}\n\t]|[\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/gu, written);
}

/** The same for a value within a line, which must not look like a line of its own. */
export function visibleValue(text: string): string {
  return visible(text).replace(/[\n\t]/g, written);
}

function written(char: string): string {
  return `\\u{${char.codePointAt(0)!.toString(16)}}`;
}

/** How long ago, in a word or two. */
export function ago(then: number, now: number): string {
  const minutes = Math.floor(Math.max(0, now - then) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h`;
  const days = Math.floor(hours / 24);
  return days === 1 ? "1 day" : `${days} days`;
}

/** The path within the folder; whole where it is not in there, or may lead out of it. */
export function relative(folder: string, path: string): string {
  const slash = folder.includes("\\") ? "\\" : "/";
  const start = folder.endsWith(slash) ? folder : folder + slash;
  if (folder === "" || !path.startsWith(start) || path.split(/[\\/]/).includes("..")) return path;
  return path.slice(start.length);
}

/** Lines of a file as they are put into a message. The fence is longer than any in the text. */
export function quoted(file: string, language: string, from: number, to: number, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map((run) => run[0].length));
  const fence = "`".repeat(longest + 1);
  return `${file}, lines ${from} to ${to}:\n${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}\n`;
}
