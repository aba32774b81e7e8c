// Every text that the user sees, once. The texts of commands, settings and the walkthrough are in package.json. The
// Neovim plugin has the same words in strings.lua.
import type { Choice } from "./choice";

const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

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

const megabytes = (bytes: number): string => `${(bytes / (1024 * 1024)).toFixed(1)} MB`;

/** Formats a remaining time such as "1:05". */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

const withTime = (text: string, ms: number): string => (ms > 0 ? `${text}, ${duration(ms)}` : text);

export const product = "Codex Bridge";
export const client = "Codex Bridge for VS Code";

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

// The changes of the working tree
export const workingTree = {
  title: "Changes of the working tree",
  noGit: "The Git extension of VS Code is not enabled.",
  noRepository: "The folder is not in a Git repository.",
  none: "The working tree has no changes.",
};

const maxNames = 20;
const someNames = (names: string[]): string => [...names.slice(0, maxNames), ...(names.length > maxNames ? [`${names.length - maxNames} more`] : [])].join(", ") || "none";

// The files of a card, by folder
export const files = {
  in: (folder: string): string => (folder === "" ? "this folder" : `${folder}/`),
  count: (count: number): string => plural(count, "file"),
  more: (count: number): string => `Show ${plural(count, "more file")}`,
};

// The changes of a turn
export const changes = {
  title: (files: number): string => (files === 1 ? "1 file changed" : `${files} files changed`),
  soFar: (files: number): string => `${changes.title(files)} so far`,
  notRecorded: "There is no restore point, so that these files can't be undone here.",
  noRestorePoint: (why: string): string => `No restore point: ${why}`,
  tooSlow: (seconds: number): string => `the snapshot took longer than ${seconds} s`,
  noGit: "there is no git program on PATH",
  homeFolder: "snapshots of a home folder are too large",
  gitFailed: (command: string, why: string): string => `git ${command} failed: ${why}`,
  whileRunning: "A turn is running: wait for its end, or stop it.",
  notCovered: (path: string): string => `Not covered: ${path}`,
  onlyUncovered: "This turn changed files that can't be undone here",
  review: "Review",
  compaction: "Compaction",
  unfinished: "The window closed during this turn. All changes until it opened again are in it, also yours.",
  youSaved: "you saved this file during the turn",
  sizes: (before: number, after: number): string => `${before} bytes → ${after} bytes`,
  openDiff: "Open Diff",
  keep: "Keep",
  undo: "Undo",
  hunks: "Hunks",
  moreHunks: (count: number): string => `Show ${plural(count, "more hunk")}`,
  moreLines: (count: number): string => `… and ${plural(count, "more line")}: “Open Diff” has them`,
  showAll: "Show All Changes",
  allTitle: (turn: string): string => `Changes of “${turn}”`,
  actionOn: (action: string, path: string): string => `${action}: ${path}`,
  hunk: (line: number, removed: number, added: number): string => `Line ${line}: −${removed} +${added}`,
  hunkOf: (path: string, hunk: string): string => `${path}, ${hunk}`,
  kept: "kept",
  isUndone: "undone",
  diffTitle: (path: string): string => `${path}: the turn's changes`,
  undone: (path: string): string => `Undone: ${path}`,
  undoneMerged: (path: string): string => `Undone: ${path}; your later edits are kept.`,
  notUndone: (path: string, why: string): string => `${path} is not undone: ${why}`,
  conflict: "your later edits touch the same lines",
  inseparable: "you and Codex changed the same lines during the turn",
  changedMeanwhile: "the file changed in the meantime",
  notExact: "the editor can't show exactly these bytes",
  notInFolder: "the path is not in the folder",
  noParent: "its folder is missing, or is not a real folder of the workspace",
  isFolder: "the path is now a folder",
  isSpecial: "the path is now a special file, or can't be read",
  verdicts: {
    restored: "restored",
    merged: "restored, your later edits are kept",
    conflict: "conflict: not restored",
    refused: "not restored",
    same: "already as before",
  },
  restore: "Restore to Before This Turn",
  restoreButton: "Restore",
  restored: (done: number, not: number): string => `Restored: ${done}; not restored: ${not}.`,
  undoRestore: "Undo the Restore",
  interrupted: (written: string[], missing: string[]): string =>
    `VS Code was closed while it restored files. Restored: ${someNames(written)}. Not restored, or edited since: ${someNames(missing)}.`,
  finish: "Finish It",
  finishTitle: "Finish the Restore",
  takeBack: "Take It Back",
  leave: "Leave the Files",
  left: "The files stay as they are.",
  nothingToRestore: "No file needs a restore.",
  nothingToUndo: "There is no undo or restore to undo.",
  noRestorePoints: "This thread has no restore points.",
};

// Folders
export const folder = {
  untrusted: "This folder is not trusted. Codex runs commands and changes files, so it does not start here.",
  trust: "Manage Workspace Trust",
  none: "Codex works in a folder. Open a folder first.",
  open: "Open Folder",
  pick: "Folder of the chat",
  pickHint: "Codex works in this folder. A thread stays in its folder.",
  is: (name: string): string => `Folder of the chat: ${name}`,
  chat: (name: string, title: string): string => `${name}: ${title}`,
};

// Threads
export const thread = {
  unnamed: "(no messages)",
  current: "open in the chat",
  resume: "Resume",
  pick: "Resume a thread",
  pickHint: "Threads of this folder, newest first",
  cannotList: "The threads can't be listed.",
  archived: "Archived threads",
  search: "Search threads",
  searchHint: "Type words of a conversation in this folder",
  noneFound: "No thread matches.",
  rename: "Rename the thread",
  renamePrompt: "The name of the thread",
  isArchived: (name: string): string => `Archived: ${name}`,
  unarchive: "Unarchive",
  failed: (cause: string): string => `The thread can't be changed: ${cause}`,
  lost: (reason: string): string => `The previous thread can't be continued${reason}. This is a new thread.`,
  effectiveApproval: (is: string, set: string): string => `The effective approval policy is “${is}”; your settings have “${set}”.`,
  settings: { model: "model", effort: "effort", approvalPolicy: "approval policy", sandbox: "sandbox" },
  unset: "the default",
  changedElsewhere: (changes: string[]): string => `Another client changed the settings of this thread: ${changes.join("; ")}`,
  change: (name: string, from: string, to: string): string => `${name} ${from} → ${to}`,
  withNetwork: (sandbox: string): string => `${sandbox} with network`,
  withRoots: (sandbox: string, roots: string): string => `${sandbox} and ${roots}`,
  effectiveSandbox: (is: string, set: string): string => `The effective sandbox is “${is}”; your settings have “${set}”.`,
};

// Programs
export const program = {
  notStarted: "Codex starts with your first message, or when you open the list of threads.",
  starting: "The app-server is starting.",
  stopped: "Codex was stopped. Your next message restarts it.",
  exited: (why: string): string => `${why}. Your next message restarts it and continues this thread.`,
  incomplete: (why: string): string => `${why}. The answer above is incomplete. Your next message restarts it and continues this thread.`,
  cannotStart: (program: string, cause: string): string => `${program} can't be started: ${cause}`,
  bySignal: (program: string, signal: string): string => `${program} was stopped by ${signal}`,
  withStatus: (program: string, status: string, line: string): string => `${program} exited with status ${status}${line ? `: ${line}` : ""}`,
  noCodex: "codex was not found. Install it with “npm install -g @openai/codex”, or set codexBridge.codexPath.",
  noCodexAt: (path: string): string => `${path} is not an executable program; fix the setting codexBridge.codexPath`,
  noBridgeAt: (path: string): string => `${path || "(nothing)"} is not an executable program; fix the setting codexBridge.path`,
  nothing: "neither codex-bridge nor codex is on PATH; install them, or set codexBridge.path and codexBridge.codexPath",
  configWithoutBridge: "codexBridge.configFile is set, but codex-bridge is not on PATH; install it, or set codexBridge.path",
  badConfig: (line: string): string => `The policy does not load: ${line}`,
  notBridge: (command: string): string => `${command} is not codex-bridge; fix the setting codexBridge.path`,
  needsBridge: "This needs codex-bridge. Install it, or set codexBridge.path.",
  oldBridge: (method: string): string => `This codex-bridge has no ${method}. Install a newer one.`,
  unsupported: (method: string): string => `the editor does not support ${method}`,
  bridgeMissing: "codex-bridge was not found. Install it, or set codexBridge.path.",
  settings: "Open Settings",
  log: "Show Log",
  restart: "Restart",
};

// The gate
export const gate = {
  notStarted: "not started",
  starting: "starting",
  notRunning: "not running",
  none: "no gate",
  off: "gate off",
  audit: "audit only",
  ready: "gate ready",
  policyOn: "policy on",
  on: "gate on",
  whyNone: "codex runs without codex-bridge, which is not on PATH. No policy is enforced; only Codex's own settings apply.",
  whyNoPolicy: "The bridge's configuration has no policy. “codex-bridge init” writes one.",
  whyAudit: "The policy has mode audit: the bridge logs its decisions, but changes nothing.",
  hooksOff: "its hooks are not active",
  whyReady: "The policy is active. The bridge verifies its hooks before the first turn of a thread.",
  whyOff: (reason: string): string => `The policy is active, but ${reason}.`,
  whyPolicyOn: "The policy and its hooks are active. Codex, not the bridge, decides when to ask (policy.gate = false).",
  whyOn: "The policy is active, and its hooks are verified.",
  counts: (refused: number, changed: number): string => `Refused: ${refused}. Changed: ${changed}.`,
  answerNeeded: "answer needed",
  bar: (short: string, doing: string): string => `Codex: ${short} ${doing}`.trim(),
  tooltip: (short: string, why: string, waits: boolean): string => `Codex Bridge: ${short}. ${why}${waits ? " Codex waits for your answer." : ""}`,
};

// Show Status
export const status = {
  title: "Codex Bridge: status",
  hint: "Enter opens what a row names",
  checking: "codex-bridge doctor is running …",
  gate: "Gate",
  policy: "Policy",
  profile: "Profile",
  file: "Policy file",
  rules: "Rules",
  rulesAre: (count: number): string => (count === 0 ? "none" : plural(count, "rule")),
  rule: "Rule",
  remember: "Remember",
  remembers: (span: string, ms: number): string => (span === "off" ? "no approval is remembered" : `approvals for this session${span === "always" ? ", or in this folder" : ""}${ms > 0 ? `, ${duration(ms)}` : ""}`),
  tested: (version: string): string => `tested with ${version}`,
  counts: "Decisions",
  countsAre: (refused: number, changed: number): string => `${refused} refused, ${changed} changed since the start`,
  grants: "Grants",
  grantsAre: (count: number): string => (count === 0 ? "none" : plural(count, "remembered approval")),
  codex: "Codex",
  unknown: "unknown",
  bridge: "Bridge",
  hub: "Shared Codex",
  shared: (clients: number): string => `yes, with ${plural(clients, "client")}`,
  notShared: "no, this window has its own",
  hooks: "Hooks",
  active: "active",
  fix: (hint: string): string => `fix: ${hint}`,
  actions: { chat: "Go to Chat", grants: "Grants", decisions: "Decisions", try: "Try a command against the policy", settings: "Open Settings", log: "Show Log", restart: "Restart" },
};

// Grants
export const grants = {
  title: "Grants",
  hint: "Choose the approvals to revoke",
  none: "No approvals are remembered.",
  kept: (span: string, expires: string, folder: string): string => `${span === "always" ? "in this folder, also after a restart" : "for this session"}, until ${expires} · ${folder}`,
  revoked: (count: number): string => `${plural(count, "approval")} revoked.`,
};

// Decisions
export const decisions = {
  title: "Decisions",
  hint: "Type to filter; Enter shows a decision",
  verdicts: { deny: "Refused", rewrite: "Changed", accept: "Accepted", pass: "Passed" } as Record<string, string>,
  none: "The log has no decisions yet.",
  failed: (cause: string): string => `The decisions can't be read: ${cause}`,
};

// Try a command against the policy
export const attempt = {
  title: "Try a command against the policy",
  prompt: "Nothing runs. Type a command as the model would.",
  deny: (command: string): string => `Refused by the policy: ${command}.`,
  ask: (command: string): string => `You are asked about this command: ${command}.`,
  allow: (command: string): string => `Runs without a question, inside the sandbox: ${command}.`,
  place: (rule: string, where: string): string => (rule ? `Rule: ${rule}${where ? `, ${where}` : ""}.` : ""),
  open: (command: string): string => `Not refused: ${command}. It runs inside the sandbox; under the approval policy “untrusted”, or with an ask rule, you are asked first.`,
  off: (command: string): string => `No policy is enforced, so nothing decides about ${command}.`,
  again: "Try Another",
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

// The official extension
export const official = {
  reload: "Reload Window",
  started: (program: string): string => `Reload the window to start ${program} in the official extension.`,
  own: "Reload the window to start the official extension's own codex.",
  notInstalled: "The setting can't be written, because the official Codex extension is not installed.",
  copy: "Copy the Setting",
  notTheBridge: (value: string): string => `chatgpt.cliExecutable is ${value}, which is not the bridge; the setting is unchanged`,
  notSet: "chatgpt.cliExecutable is not set",
};
