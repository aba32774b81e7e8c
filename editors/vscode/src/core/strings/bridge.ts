// The texts about the bridge and its Codex: folders, threads, programs, the gate, and what the bridge shows of its policy.
// The Neovim plugin has the same words in strings.lua.
import { duration, plural } from "../text";

export const product = "Codex Bridge";
export const client = "Codex Bridge for VS Code";

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
