// Formats an approval as a notification, which has one line.
import type { Choice } from "./choice";
import type { ServerRequest } from "./serverRequest";
import * as strings from "./strings/requests";
import { relativePath } from "./text";

export interface ApprovalNotification {
  text: string;
  /** The buttons. Empty if the text does not show the whole request; the user then answers in the chat. */
  choices: Choice[];
}

const maxLen = 300;

export function toNotification(request: ServerRequest, folder: string): ApprovalNotification {
  const what = whatOf(request, folder);
  const where = request.cwd ? ` (in ${request.cwd})` : "";
  const why = request.reason ? ` — ${request.reason}` : "";
  const said = request.said ? ` — ${strings.request.said}: “${request.said.replace(/[“”"]/g, "'")}”` : "";
  const details = request.kind === "command" && request.details !== "" ? ` — ${request.details.replaceAll("\n", "; ")}` : "";
  const text = strings.notification.approval(request.title, `${what}${where}${why}${details}${said}`);
  // A command with the words between its parts could look like another one with another folder.
  // VS Code renders [text](address) in a notification as a link, even one that runs a command.
  const whole = what !== "" && (request.details === "" || details !== "") && text.length <= maxLen && !text.includes("\n") && !text.includes("](") && !/ \(in | — /.test(what + request.cwd);
  // Only the card shows why a request leaves the sandbox.
  const answerable = request.fields.length === 0 && request.url === "" && request.kind !== "permissions" && request.leaves === "";
  if (whole && answerable) return { text, choices: request.choices };
  const title = request.leaves === "" ? request.title : `${strings.request.leaves}. ${request.title}`;
  return { text: strings.notification.inChat(escapeLinks(title)), choices: [] };
}

/** Returns the command or the files of a request. */
export function whatOf(request: ServerRequest, folder: string): string {
  return request.command || request.files.map((file) => relativePath(folder, file.path)).join(", ");
}

/** Prevents VS Code from rendering links. */
export const escapeLinks = (text: string): string => text.replaceAll("](", "] (");
