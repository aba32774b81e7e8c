// Describes the permissions that an approval grants, one per line. It shows unknown fields as JSON, so that nothing is
// hidden. The Neovim plugin has the same texts in requests/describe.lua.
import * as strings from "./strings/requests";
import { visibleJson, visibleValue } from "./text";

type Members = Record<string, unknown>;

/** Returns a line for each permission of a request. */
export function describePermissions(permissions: unknown): string[] {
  if (!isObject(permissions)) return isEmpty(permissions) ? [] : [visibleJson(permissions)];
  const { network, fileSystem, ...rest } = permissions;
  const lines: string[] = [];
  if (isObject(fileSystem)) {
    const { read, write, entries, ...others } = fileSystem;
    const found = [...toList(read).map((path) => describeAccess("read", path)), ...toList(write).map((path) => describeAccess("write", path)), ...toList(entries).map(describeEntry)];
    lines.push(...new Set(found)); // Codex sends a path both in a list and in an entry
    if (!areEmpty(others)) lines.push(visibleJson({ fileSystem: others }));
  } else if (!isEmpty(fileSystem)) lines.push(visibleJson({ fileSystem }));
  if (isObject(network)) {
    const { enabled, ...others } = network;
    if (enabled === true) lines.push(strings.permission.network);
    else if (!isEmpty(enabled) && enabled !== false) lines.push(visibleJson({ network: { enabled } }));
    if (!areEmpty(others)) lines.push(visibleJson({ network: others }));
  } else if (!isEmpty(network)) lines.push(visibleJson({ network }));
  if (!areEmpty(rest)) lines.push(visibleJson(rest));
  return lines;
}

// Fields of a command's request that the card shows elsewhere, or that grant nothing.
const shownElsewhere = new Set([
  "threadId", "turnId", "itemId", "approvalId", "startedAtMs", "kind", "reason", "command", "cwd", "commandActions", "availableDecisions", "bridge",
]);

/** Returns a line for each other field of a command's request. */
export function describeCommand(params: object): string[] {
  const lines: string[] = [];
  const rest: Members = {};
  for (const [name, value] of Object.entries(params)) {
    if (isEmpty(value) || shownElsewhere.has(name) || (name === "environmentId" && value === "local")) continue;
    if (name === "networkApprovalContext" && isObject(value) && typeof value["host"] === "string") {
      const { host, protocol, ...others } = value;
      lines.push(strings.permission.host(visibleValue(host as string), isEmpty(protocol) ? "" : text(protocol)) + jsonSuffix(others));
    } else if (name === "additionalPermissions") {
      lines.push(...describePermissions(value).map(strings.permission.beyond));
    } else if (name === "proposedExecpolicyAmendment" && Array.isArray(value)) {
      lines.push(`${strings.permission.rule}: ${strings.permission.commandRule(commandWords(value))}`);
    } else if (name === "proposedNetworkPolicyAmendments" && Array.isArray(value)) {
      lines.push(...value.map((one) => `${strings.permission.rule}: ${describeHostRule(one)}`));
    } else rest[name] = value;
  }
  if (!areEmpty(rest)) lines.push(strings.permission.others(visibleJson(rest)));
  return lines;
}

/** Returns the words of a command: with blanks between them, or as JSON if a word could be taken for several. */
function commandWords(words: unknown[]): string {
  return words.every((word) => typeof word === "string" && /^[\p{L}\p{N}._/+@%=*-]+$/u.test(word)) ? words.join(" ") : visibleJson(words);
}

function describeHostRule(rule: unknown): string {
  if (!isObject(rule) || typeof rule["host"] !== "string" || typeof rule["action"] !== "string") return visibleJson(rule);
  const { host, action, ...others } = rule;
  return strings.permission.hostRule(text(action), text(host)) + jsonSuffix(others);
}

function describeEntry(one: unknown): string {
  if (!isObject(one) || typeof one["access"] !== "string") return visibleJson(one);
  const { access: mode, path, ...others } = one;
  return describeAccess(mode as string, path) + jsonSuffix(others);
}

function describeAccess(mode: string, path: unknown): string {
  const words = visibleValue(mode);
  if (typeof path === "string") return `${words} ${visibleValue(path)}`;
  if (isObject(path)) {
    const { type, path: at, pattern, ...others } = path;
    if (type === "path" && typeof at === "string" && pattern === undefined) return `${words} ${visibleValue(at)}${jsonSuffix(others)}`;
    if (type === "glob_pattern" && typeof pattern === "string" && at === undefined) return `${words} ${strings.permission.matching(visibleValue(pattern))}${jsonSuffix(others)}`;
  }
  return `${words} ${visibleJson(path)}`;
}

const jsonSuffix = (others: Members): string => (areEmpty(others) ? "" : ` ${visibleJson(others)}`);
const text = (value: unknown): string => (typeof value === "string" ? visibleValue(value) : visibleJson(value));
const toList = (value: unknown): unknown[] => (Array.isArray(value) ? value : isEmpty(value) ? [] : [value]);
const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null && !Array.isArray(value);
const isEmpty = (value: unknown): boolean => value === null || value === undefined || (Array.isArray(value) && value.length === 0);
const areEmpty = (members: Members): boolean => Object.values(members).every(isEmpty);
