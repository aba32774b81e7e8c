// Formats an approval as a notification, which has one line.
import type { ServerRequest, Choice } from "./serverRequest";
import { relativePath } from "./text";

export interface ApprovalNotification {
  text: string;
  /** The buttons. Empty if the text does not show the whole request; the user then answers in the chat. */
  choices: Choice[];
}

const maxLen = 300;

export function toNotification(request: ServerRequest, folder: string): ApprovalNotification {
  const what = request.command || request.files.map((file) => relativePath(folder, file.path)).join(", ");
  const where = request.cwd ? ` (in ${request.cwd})` : "";
  const why = request.reason ? ` — ${request.reason}` : "";
  const details = request.kind === "command" && request.details !== "" ? ` — ${request.details.replaceAll("\n", "; ")}` : "";
  const text = `Codex: ${request.title} ${what}${where}${why}${details}`;
  // VS Code renders [text](address) in a notification as a link, even one that runs a command.
  const whole = what !== "" && (request.details === "" || details !== "") && text.length <= maxLen && !text.includes("\n") && !text.includes("](");
  const answerable = request.fields.length === 0 && request.url === "" && request.kind !== "permissions";
  return whole && answerable ? { text, choices: request.choices } : { text: `Codex: ${escapeLinks(request.title)} Answer in the chat.`, choices: [] };
}

/** Prevents VS Code from rendering links. */
export const escapeLinks = (text: string): string => text.replaceAll("](", "] (");
