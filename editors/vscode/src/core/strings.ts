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
  grantRoot: (folder: string): string => `This lets Codex write below ${folder} for the session.`,
  nothing: "nothing",
  waits: "Codex waits for your answer.",
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
};

// Folders
export const folder = {
  untrusted: "This folder is not trusted. Codex runs commands and changes files, so it does not start here.",
  trust: "Manage Workspace Trust",
  none: "Codex works in a folder. Open a folder first.",
  open: "Open Folder",
};

// Threads
export const thread = {
  unnamed: "(no messages)",
  current: "open in the chat",
  resume: "Resume",
  pick: "Resume a thread",
  pickHint: "Threads of this folder, newest first",
  cannotList: "The threads can't be listed.",
  lost: (reason: string): string => `The previous thread can't be continued${reason}. This is a new thread.`,
  effectiveApproval: (is: string, set: string): string => `The effective approval policy is “${is}”; your settings have “${set}”.`,
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
