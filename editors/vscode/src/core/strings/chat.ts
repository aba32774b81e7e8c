// The texts of the chat: the conversation, the composer and its pickers.
// The Neovim plugin has the same words in strings.lua.
import { elapsed, megabytes, plural } from "../text";

// The chat
export const chat = {
  you: "You",
  codex: "Codex",
  notice: "Notice",
  reasoning: "Reasoning",
  commandIs: (what: string, state: string): string => `Command ${what}, ${state}`,
  toolIs: (what: string, state: string): string => `Tool ${what}, ${state}`,
  patchIs: (state: string): string => `Patch, ${state}`,
  exit: (code: number): string => `exit ${code}`,
  states: { running: "running", done: "done", failed: "failed", declined: "declined" },
  kinds: { add: "new", delete: "deleted", update: "" },
  added: (lines: number): string => `${lines} lines added`,
  removed: (lines: number): string => `${lines} lines removed`,
  conversation: "Conversation",
  requests: "Waiting for your answer",
  message: "Message to Codex",
  ask: "Ask Codex",
  steer: "Steer Codex",
  sendButton: "Send",
  steerButton: "Steer",
  stop: "Stop",
  sends: "Enter sends",
  stops: "Esc stops",
  welcome: ["Ask Codex about this folder, or let it change something.", "Codex asks here for approvals. A message during a turn steers it."],
  working: "Codex is working.",
  finished: (words: string): string => `Codex has finished. ${words}`,
  waiting: (what: string): string => `Codex waits for your answer. ${what}`,
  badge: "Codex waits for an answer",
  workingFor: (ms: number): string => `Working ${elapsed(ms)}`,
  image: "Image",
  sentWith: "Sent with the message",
  code: (lang: string): string => (lang ? `Code, ${lang}` : "Code"),
  copyCode: "Copy the code",
  copy: "Copy",
  copied: "Copied",
  webSearch: "web search",
  compacted: "Codex compacted the conversation.",
  reviewStarted: "A review started.",
  reviewDone: "The review is complete.",
  stopped: "Stopped.",
  turnFailed: "The turn failed.",
  truncated: "\n… (output truncated)",
  showEarlier: (count: number, all: number): string => (count === all ? `Show ${all} earlier` : `Show ${count} of ${all} earlier`),
  showRest: "Show the Rest",
};

// Several chats
export const chats = {
  list: "Chats",
  otherWaits: "Another chat waits for your answer.",
  unnamed: "New chat",
  new: "New chat",
  close: (title: string): string => `Close ${title}`,
  state: { running: "working", waiting: "waits for your answer", idle: "" },
  tab: (title: string, state: string): string => (state ? `${title}, ${state}` : title),
  inChat: (title: string): string => `In the chat “${title}”`,
  pick: "Switch to a chat",
  running: (title: string): string => `A turn is running in “${title}”.`,
  stopAndClose: "Stop and Close",
  limit: (count: number): string => `At most ${count} chats can be open. Close one first.`,
};

// The context of a message
export const context = {
  list: "Context of the message",
  add: "Add context",
  remove: (label: string): string => `Remove ${label}`,
  lines: (file: string, from: number, to: number): string => (from === to ? `${file}:${from}` : `${file}:${from}–${to}`),
  problems: (file: string): string => `Problems in ${file}`,
  count: (count: number): string => plural(count, "problem"),
  noEditor: "No file is open in the editor.",
  noProblems: (file: string): string => `The editor reports no problems in ${file}.`,
  notAFile: "Only files on this machine can be added.",
  selection: "Selection",
  selectionDetail: "The selected lines of the active editor, or its file",
  problemsLabel: "Problems",
  problemsDetail: "Errors and warnings of the active file",
  files: "Files …",
  filesDetail: "Choose files of the folder",
  added: (label: string): string => `Added ${label}.`,
  choose: "Add context to the message",
};

// Images
export const image = {
  tooLarge: (name: string, size: number, max: number): string => `${name} has ${megabytes(size)}. Images can have at most ${megabytes(max)}.`,
  tooMany: (max: number): string => `A message can have at most ${max} images.`,
  unknown: (name: string): string => `${name} is not a PNG, JPEG, GIF or WebP image.`,
  unreadable: (name: string): string => `${name} can't be read.`,
  noStorage: "The image can't be stored, because VS Code has no storage for this window.",
  label: (name: string, size: number): string => `${name}, ${size < 100_000 ? `${Math.max(1, Math.round(size / 1000))} kB` : megabytes(size)}`,
  pasted: "Pasted image",
};

// Completion in the composer
export const completion = {
  list: "Suggestions",
  found: (count: number): string => (count === 1 ? "1 suggestion. Up and Down choose, Enter accepts." : `${count} suggestions. Up and Down choose, Enter accepts.`),
  folder: "folder",
};

// Slash commands
export const slash = {
  unknown: (name: string): string => `There is no command /${name}.`,
  noText: (name: string): string => `The command /${name} takes no text.`,
  asText: "Send as Text",
  commands: {
    new: "Start a new thread in this chat",
    review: "Review the changes of the working tree, or what you describe",
    compact: "Summarize the conversation to free context",
    model: "Choose the model and its effort",
    permissions: "Choose the approval policy and the sandbox",
    status: "Show the gate, the policy and Codex",
    diff: "Show the changes of the working tree",
  },
};

// Pickers
export const picker = {
  titles: { model: "Model and effort", permissions: "Approvals and sandbox" },
  groups: { model: "Model", effort: "Effort", approvalPolicy: "Approval policy", granular: "Questions of the granular policy", sandbox: "Sandbox" },
  approvalPolicy: {
    untrusted: "Codex asks before each command and patch.",
    "on-request": "Codex asks before it leaves the sandbox.",
    never: "Codex never asks; actions outside the sandbox fail.",
    granular: (asked: string[], refused: string[]): string =>
      [asked.length > 0 ? `Codex asks about ${asked.join(", ")}.` : "", refused.length > 0 ? `It refuses without a question: ${refused.join(", ")}.` : ""].filter(Boolean).join(" "),
  },
  /** The parts of the granular approval policy. */
  kinds: {
    sandbox_approval: "commands outside the sandbox",
    rules: "commands that a rule of Codex names",
    skill_approval: "scripts of skills",
    request_permissions: "more permissions",
    mcp_elicitations: "questions of MCP servers",
  },
  asks: "Codex asks.",
  refuses: "Refused without a question.",
  off: (what: string): string => `not ${what}`,
  approvalLabel: (name: string): string => name.split(":")[0]!,
  sandbox: {
    "read-only": "Commands can read files.",
    "workspace-write": "Commands can also write in the folder.",
    "danger-full-access": "No sandbox.",
  },
  why: (reason: string, rule: string, where: string): string => `Not allowed: ${reason}${rule ? ` (${rule}, ${where})` : ""}`,
  applies: "Applies from your next message.",
  done: "Done",
  chosen: (setting: string, value: string): string => `${setting}: ${value}, from your next message`,
  modelButton: (model: string, effort: string): string => [model || "Model", effort].filter(Boolean).join(" · "),
  permissionsButton: (approval: string, sandbox: string): string => [picker.approvalLabel(approval), sandbox].filter(Boolean).join(" · ") || "Approvals",
  modelIs: (text: string): string => `Model and effort: ${text}`,
  permissionsAre: (text: string): string => `Approvals and sandbox: ${text}`,
  failed: (cause: string): string => `The choices can't be listed: ${cause}`,
};

// The plan and the tokens
export const plan = {
  title: (done: number, all: number): string => `Plan: ${done} of ${all} done`,
  steps: { pending: "to do", inProgress: "in progress", completed: "done" },
};
export const usage = {
  context: (percent: number): string => `${percent}% of context`,
  tokens: (count: number): string => `${count.toLocaleString("en")} tokens`,
  title: (context: number, window: number, total: number): string =>
    `Context: ${context.toLocaleString("en")}${window > 0 ? ` of ${window.toLocaleString("en")}` : ""} tokens. The thread has used ${total.toLocaleString("en")} tokens.`,
};

// Links to files
export const link = {
  open: (file: string, line: number): string => (line > 0 ? `Open ${file} at line ${line}` : `Open ${file}`),
  missing: (file: string): string => `${file} is not a file of this machine.`,
};
