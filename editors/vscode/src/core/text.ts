// Formats texts for people: paths, times, counts, code blocks and texts that others wrote. Two of the latter never look the
// same: the rules are those of bridge/display in Go, and of display.lua of the Neovim plugin.

const invisible = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** Matches a character that can't be told from another: it is invisible, turns the text, or is a blank of another width. */
const lookalike = /(?! )[\p{C}\p{Default_Ignorable_Code_Point}\p{White_Space}\u2800]/u;
const lookalikes = new RegExp(lookalike, "gu");

/** Shows a text of one or several lines. A line that could be taken for another is quoted, as in JSON. */
export function visible(text: string): string {
  return text.includes("\n") ? text.split("\n").map((line) => (isExact(line) ? line : quote(line))).join("\n") : visibleValue(text);
}

/** Shows a text in one line: as it is, or quoted as in JSON if it could be taken for another one. */
export function visibleValue(text: string): string {
  return text.startsWith(" ") || !isExact(text) ? quote(text) : text;
}

/**
 * Shows a sentence, a name or a place in one line, with its invisible characters escaped. Not for a text on which an answer
 * depends: another one may look like it.
 */
export function visibleLine(text: string): string {
  return text.replace(invisible, escape);
}

/** Shows the path of a file in a list, where a comma or an arrow separates two of them. */
export function visiblePath(path: string): string {
  return /[,→]/.test(path) ? quote(path) : visibleValue(path);
}

/** Shows a value as JSON. */
export function visibleJson(value: unknown, indent = 0): string {
  return (JSON.stringify(value, null, indent) ?? "null").replace(lookalikes, (char) => (char === "\n" ? char : escape(char)));
}

/** Reports whether no other text looks like this one. */
function isExact(line: string): boolean {
  return !lookalike.test(line) && !line.endsWith(" ") && !/^ *"/.test(line);
}

function quote(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&").replace(lookalikes, escape)}"`;
}

function escape(char: string): string {
  const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[char];
  return short ?? char.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
}

/** Formats a count with its noun, such as "1 file" or "2 files". */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Formats a time such as "30 minutes". */
export function duration(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 1) return plural(Math.max(1, Math.round(ms / 1000)), "second");
  return minutes % 60 === 0 ? plural(minutes / 60, "hour") : plural(minutes, "minute");
}

/** Formats a past time such as "0:07" or "1:02:03". */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (n: number): string => String(n).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  return hours > 0 ? `${hours}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}` : `${Math.floor(seconds / 60)}:${two(seconds % 60)}`;
}

/** Formats a remaining time such as "1:05". */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Formats a size such as "1.5 MB". */
export function megabytes(bytes: number): string {
  return `${(bytes / (1024 * 1024)).toFixed(1)} MB`;
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
