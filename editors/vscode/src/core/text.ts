// Formats texts for people: paths, times, code blocks and texts with invisible characters.
/**
 * Escapes control characters, invisible characters and those that change the direction of text. Otherwise a command
 * could look like another one.
 */
export function visible(text: string): string {
  return text.replace(/[^\P{C}\n\t]|[\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/gu, escape);
}

/** Escapes line breaks too, for a value within a line. */
export function visibleValue(text: string): string {
  return visible(text).replace(/[\n\t]/g, escape);
}

function escape(char: string): string {
  return `\\u{${char.codePointAt(0)!.toString(16)}}`;
}

/** Formats the time since then, such as "5 min". */
export function relativeTime(time: number, now: number): string {
  const minutes = Math.floor(Math.max(0, now - time) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h`;
  const days = Math.floor(hours / 24);
  return days === 1 ? "1 day" : `${days} days`;
}

/** Returns the path relative to the folder, or the whole path if it may be outside the folder. */
export function relativePath(folder: string, path: string): string {
  const slash = folder.includes("\\") ? "\\" : "/";
  const start = folder.endsWith(slash) ? folder : folder + slash;
  if (folder === "" || !path.startsWith(start) || path.split(/[\\/]/).includes("..")) return path;
  return path.slice(start.length);
}

/** Formats lines of a file as a code block. Its fence is longer than any in the text. */
export function codeBlock(file: string, language: string, from: number, to: number, text: string): string {
  const maxLen = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map((run) => run[0].length));
  const fence = "`".repeat(maxLen + 1);
  return `${file}, lines ${from} to ${to}:\n${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}\n`;
}
