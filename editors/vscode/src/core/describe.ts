// What an answer grants, a line for each part. A part without words of its own is shown as JSON, so that nothing is hidden.
// The Neovim plugin has the same words in ask/granted.lua.
import { visible, visibleValue } from "./text";

type Members = Record<string, unknown>;

/** The lines for the permissions of a request. */
export function permissionLines(permissions: unknown): string[] {
  if (!isObject(permissions)) return isEmpty(permissions) ? [] : [json(permissions)];
  const { network, fileSystem, ...rest } = permissions;
  const lines: string[] = [];
  if (isObject(fileSystem)) {
    const { read, write, entries, ...others } = fileSystem;
    const found = [...list(read).map((path) => access("read", path)), ...list(write).map((path) => access("write", path)), ...list(entries).map(entry)];
    lines.push(...new Set(found)); // Codex names a path both in a list and in an entry
    if (!areEmpty(others)) lines.push(json({ fileSystem: others }));
  } else if (!isEmpty(fileSystem)) lines.push(json({ fileSystem }));
  if (isObject(network)) {
    const { enabled, ...others } = network;
    if (enabled === true) lines.push("use the network");
    else if (!isEmpty(enabled) && enabled !== false) lines.push(json({ network: { enabled } }));
    if (!areEmpty(others)) lines.push(json({ network: others }));
  } else if (!isEmpty(network)) lines.push(json({ network }));
  if (!areEmpty(rest)) lines.push(json(rest));
  return lines;
}

// Members of a command's request that its card shows in another place, or that grant nothing.
const shownElsewhere = new Set([
  "threadId", "turnId", "itemId", "approvalId", "startedAtMs", "kind", "reason", "command", "cwd", "commandActions", "availableDecisions",
]);

const proposed = "Proposed rule (Accept does not add it)";

/** The lines for all that a command's request has beside the command. */
export function commandLines(params: object): string[] {
  const lines: string[] = [];
  const rest: Members = {};
  for (const [name, value] of Object.entries(params)) {
    if (isEmpty(value) || shownElsewhere.has(name) || (name === "environmentId" && value === "local")) continue;
    if (name === "networkApprovalContext" && isObject(value) && typeof value["host"] === "string") {
      const { host, protocol, ...others } = value;
      lines.push(`Network: ${visibleValue(host as string)}${isEmpty(protocol) ? "" : ` by ${text(protocol)}`}${more(others)}`);
    } else if (name === "additionalPermissions") {
      lines.push(...permissionLines(value).map((line) => `Beyond the sandbox: ${line}`));
    } else if (name === "proposedExecpolicyAmendment" && Array.isArray(value)) {
      lines.push(`${proposed}: always allow what begins with ${value.map(text).join(" ")}`);
    } else if (name === "proposedNetworkPolicyAmendments" && Array.isArray(value)) {
      lines.push(...value.map((one) => `${proposed}: ${hostRule(one)}`));
    } else rest[name] = value;
  }
  if (!areEmpty(rest)) lines.push(`Also: ${json(rest)}`);
  return lines;
}

function hostRule(rule: unknown): string {
  if (!isObject(rule) || typeof rule["host"] !== "string" || typeof rule["action"] !== "string") return json(rule);
  const { host, action, ...others } = rule;
  return `always ${text(action)} the host ${text(host)}${more(others)}`;
}

function entry(one: unknown): string {
  if (!isObject(one) || typeof one["access"] !== "string") return json(one);
  const { access: how, path, ...others } = one;
  return access(how as string, path) + more(others);
}

function access(how: string, path: unknown): string {
  const words = visibleValue(how);
  if (typeof path === "string") return `${words} ${visibleValue(path)}`;
  if (isObject(path)) {
    const { type, path: at, pattern, ...others } = path;
    if (type === "path" && typeof at === "string" && pattern === undefined) return `${words} ${visibleValue(at)}${more(others)}`;
    if (type === "glob_pattern" && typeof pattern === "string" && at === undefined) return `${words} all that matches ${visibleValue(pattern)}${more(others)}`;
  }
  return `${words} ${json(path)}`;
}

const more = (others: Members): string => (areEmpty(others) ? "" : ` ${json(others)}`);
const text = (value: unknown): string => (typeof value === "string" ? visibleValue(value) : json(value));
const json = (value: unknown): string => visible(JSON.stringify(value) ?? "null");
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : isEmpty(value) ? [] : [value]);
const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null && !Array.isArray(value);
const isEmpty = (value: unknown): boolean => value === null || value === undefined || (Array.isArray(value) && value.length === 0);
const areEmpty = (members: Members): boolean => Object.values(members).every(isEmpty);
