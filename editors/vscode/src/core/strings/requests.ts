// The texts about requests of Codex, decisions of the policy, and the patches and notifications that go with them.
// The Neovim plugin has the same words in strings.lua.
import type { Choice } from "../choice";
import { clock, duration, plural } from "../text";

const withTime = (text: string, ms: number): string => (ms > 0 ? `${text}, ${duration(ms)}` : text);

// The cards of the policy
export const policy = {
  refused: "Refused by the policy",
  changed: "Changed by the policy",
  expired: "No answer in time: declined",
  what: "What",
  why: "Why",
  rule: "Rule",
  where: "Where",
  open: "Open policy",
  explain: "Explain",
  noPlace: "the default, which no file sets",
  noReason: "The policy gives no reason.",
  aCall: "a tool call",
  removed: "removed",
  absent: "not set",
  changes: (field: string, from: string, to: string): string => (from === to ? `${field}: ${from}` : `${field}: ${from} → ${to}`),
  notRun: "It did not run.",
  message: (method: string): string => `The message is ${method}.`,
  hint: (hint: string): string => `To change this: ${hint}.`,
  edit: "To change this, edit the rule. A change of the file applies to the next request.",
  notConfigurable: "No file sets this rule. Your configuration can; run “codex-bridge init” for a commented one.",
  cannotOpen: (file: string, cause: string): string => `${file} can't be opened: ${cause}`,
};

// Requests
export const request = {
  leaves: "Leaves the sandbox",
  leavesCommand: "This command would run outside the sandbox, with your rights.",
  leavesPatch: "This change is outside what the sandbox allows.",
  leavesPermissions: "Codex asks for more than the sandbox allows.",
  leavesHost: "Codex asks for the network.",
  whatLeaves: (what: string): string => `What leaves: ${what}`,
  command: "Run this command?",
  stdin: "Type this into a running command?",
  network: "Allow network access?",
  patch: (files: number): string => (files === 1 ? "Change this file?" : files > 1 ? `Change these ${files} files?` : "Change files?"),
  permissions: "Allow more than the sandbox?",
  question: "Codex has a question",
  call: (server: string): string => `Call ${server}?`,
  asks: (server: string): string => `${server} asks`,
  serverAsks: (server: string): string => `The MCP server ${server} asks`,
  askerUnknown: "Without a policy, nothing shows whether Codex or the server asks this.",
  said: "Stated reason (not checked)",
  grantRoot: (folder: string): string => `This lets Codex write below ${folder} for the session.`,
  nothing: "nothing",
  waits: "Codex waits for your answer.",
  waitsElsewhere: (client: string, what: string): string => `Waits for an answer in ${client}, which began the turn${what === "" ? "" : `: ${what}`}`,
  notPending: "This request is no longer pending.",
  inFolder: "in ",
  theCommand: "The command",
  anotherAnswer: "Another answer",
  showDiff: "Show Diff",
  expires: (ms: number): string => `Declined in ${clock(ms)}`,
  expiresSoon: (ms: number): string => `Without your answer, this is declined in ${duration(ms)}.`,
  keptSession: "Counts for the same call in the same folder, in this thread.",
  keptAlways: "Counts for the same call in this folder, also after a restart.",
  required: "required",
  noContent: "Codex sent no content for this patch.",
};
/** The label of a choice. keptMs: how long the bridge keeps the answer; 0 if that is not known. */
export const choice = (choice: Choice, keptMs = 0): string => {
  switch (choice) {
    case "accept":
      return "Accept";
    case "acceptForSession":
      return withTime("Accept for this session", keptMs);
    case "acceptAlways":
      return withTime("Accept in this folder", keptMs);
    case "decline":
      return "Decline";
    case "submit":
      return "Answer";
  }
};
export const field = {
  required: "This field is required.",
  number: "Enter a number.",
  integer: "Enter a whole number.",
  min: (limit: number): string => `Enter ${limit} or more.`,
  max: (limit: number): string => `Enter ${limit} or less.`,
  shorter: (limit: number): string => `Enter at most ${plural(limit, "character")}.`,
  longer: (limit: number): string => `Enter at least ${plural(limit, "character")}.`,
  email: "Enter an email address.",
  uri: "Enter an address such as https://example.com.",
  date: "Enter a date such as 2026-03-01.",
  dateTime: "Enter a time such as 2026-03-01T09:30:00Z.",
  option: "Choose one of the options.",
};

// Permissions
export const permission = {
  network: "use the network",
  beyond: (what: string): string => `Beyond the sandbox: ${what}`,
  host: (host: string, protocol: string): string => `Network: ${host}${protocol ? ` by ${protocol}` : ""}`,
  rule: "Proposed rule (Accept does not add it)",
  commandRule: (words: string): string => `always allow commands that start with ${words}`,
  hostRule: (action: string, host: string): string => `always ${action} the host ${host}`,
  matching: (pattern: string): string => `all files that match ${pattern}`,
  others: (json: string): string => `Other fields: ${json}`,
};

// Notifications
export const notification = {
  approval: (title: string, what: string): string => `Codex: ${title} ${what}`,
  inChat: (title: string): string => `Codex: ${title} Answer in the chat.`,
  expired: (what: string): string => `Codex: no answer in time: declined. ${what}`,
  finished: (title: string): string => (title ? `Codex has finished: ${title}` : "Codex has finished."),
  openChat: "Open Chat",
};

// Diffs
export const diff = {
  proposes: (file: string, moved: string, note: string): string => `${file}${moved} (Codex proposes${note})`,
  files: (count: number): string => `Codex: ${count} files`,
  doesNotApply: ", does not apply to the current file: text of the patch",
  deleted: ", deleted",
};

// The edit of a patch before it is accepted
export const edit = {
  start: "Edit…",
  show: "Show the Edit",
  accept: "Accept Edited",
  discard: "Discard the Edits",
  title: (file: string): string => `${file} (edit, then accept)`,
  files: (count: number): string => `Edit ${count} files, then accept`,
  unsaved: (file: string): string => `${file} has unsaved changes. Save or revert them, then edit the patch.`,
  notText: (file: string): string => `${file} can't be edited here: it is not plain text in UTF-8 with LF.`,
  doesNotApply: (file: string): string => `The patch does not fit ${file} as it is now.`,
  changedMeanwhile: (file: string): string => `Nothing was written: ${file} changed since you started the edit. Your text stays in the editor.`,
  notWritten: (file: string, why: string): string => `${file} can't be written: ${why}. Your text stays in the editor.`,
  notAccepted: (why: string): string => `Your version is not accepted: ${why}. The files are as before, and your text stays in the editor.`,
  notPending: "The request is over, so nothing was written. Your text stays in the editor.",
  answeredMeanwhile: "The request was answered elsewhere while your version was written. Compare the files with your text in the editor.",
  whyNot: {
    leaves: "It can't be edited first, because it leaves the sandbox.",
    content: "It can't be edited first, because Codex sent no content.",
    text: "It can't be edited first, because it deletes or moves a file.",
    outside: "It can't be edited first, because it changes files outside the folder of the chat.",
  },
  nothing: "No pending patch can be edited. A patch can be edited if it adds and changes files of the folder, in the sandbox.",
  toModel: (diff: string): string =>
    `I edited your patch before I accepted it. The files have the patch with my edits, so the tool reports a rejection. Do not apply the patch again. My edits of your version:\n\n${diff}`,
};
