// An approval in the one line of a notification.
import type { Ask, Choice } from "./serverRequest";
import { relative } from "./text";

export interface Notice {
  text: string;
  /** What may be answered right there: nothing, where the line does not show all that is decided. */
  choices: Choice[];
}

const longest = 300;

export function noticeOf(ask: Ask, folder: string): Notice {
  const what = ask.command || ask.files.map((file) => relative(folder, file.path)).join(", ");
  const where = ask.cwd ? ` (in ${ask.cwd})` : "";
  const why = ask.reason ? ` — ${ask.reason}` : "";
  const details = ask.kind === "command" && ask.details !== "" ? ` — ${ask.details.replaceAll("\n", "; ")}` : "";
  const text = `Codex: ${ask.title} ${what}${where}${why}${details}`;
  // VS Code makes links of [text](address) in a notification, those that run commands too.
  const whole = what !== "" && (ask.details === "" || details !== "") && text.length <= longest && !text.includes("\n") && !text.includes("](");
  const answerable = ask.fields.length === 0 && ask.url === "" && ask.kind !== "permissions";
  return whole && answerable ? { text, choices: ask.choices } : { text: `Codex: ${unlinked(ask.title)} It is in the chat.`, choices: [] };
}

export const unlinked = (text: string): string => text.replaceAll("](", "] (");
