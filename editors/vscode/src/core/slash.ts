// The slash commands of the composer.
import * as strings from "./strings/chat";

export const commands = ["new", "review", "compact", "model", "permissions", "status", "diff"] as const;
export type SlashCommand = (typeof commands)[number];

export type Slash =
  | { type: "text" }
  | { type: "command"; name: SlashCommand; rest: string }
  /** why: says that the command is unknown, or takes no text. */
  | { type: "problem"; why: string };

export const isCommand = (name: unknown): name is SlashCommand => commands.includes(name as SlashCommand);

/** Parses a message. A path such as /etc/hosts is text. */
export function parseSlash(message: string): Slash {
  const match = /^\/([A-Za-z][\w-]*)(?:\s+([\s\S]*))?$/.exec(message.trim());
  if (!match) return { type: "text" };
  const [, name = "", rest = ""] = match;
  if (!isCommand(name)) return { type: "problem", why: strings.slash.unknown(name) };
  if (rest !== "" && name !== "review") return { type: "problem", why: strings.slash.noText(name) };
  return { type: "command", name, rest };
}

/** Returns the commands that start with a prefix. */
export const matching = (prefix: string): SlashCommand[] => commands.filter((name) => name.startsWith(prefix.toLowerCase()));
