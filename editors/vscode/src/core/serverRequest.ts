// Requests of the server that the user answers: approvals, permissions, forms of MCP servers and questions. It converts
// them to one type, and the user's choice to the response. A choice that was not offered is declined.
import { countChanges } from "./items";
import { describeCommand, describePermissions } from "./describe";
import { fieldError, toContent, toField, type Field, type Property, type Values } from "./fields";
import * as strings from "./strings/requests";
import { visible, visibleJson, visibleLine, visiblePath, visibleValue } from "./text";
import type { Choice } from "./choice";
import type { FileChange } from "./entry";
import type { Change } from "./protocol";

export type { Field, Values } from "./fields";

export interface ServerRequest {
  id: string;
  kind: "command" | "patch" | "permissions" | "form" | "question";
  title: string;
  threadId: string;
  turnId: string;
  itemId: string;
  command: string;
  cwd: string;
  reason: string;
  /** Words of the model, which are not checked. They are shown as a quotation; "" if there are none. */
  said: string;
  details: string;
  url: string;
  files: FileChange[];
  fields: Field[];
  choices: Choice[];
  /** The reason why it leaves the sandbox, in one sentence; "" for a request that stays inside. */
  leaves: string;
  /** How long an answer for longer than once counts, in milliseconds; 0 if that is not known. */
  keptMs: number;
  /** When the bridge declines the request, in milliseconds since 1970; null if it waits, or if that is not known. */
  expiresAt: number | null;
}

/** The program that keeps an answer for longer than once: Codex itself, or a bridge that enforces a policy. */
export type Keeper = "codex" | "bridge";

/** The bridge asks under this name. An MCP server can have it, too. */
const bridgeName = "codex-bridge";

/** The program that asks: the bridge itself, Codex through a bridge that enforces a policy, or Codex without a policy. */
export type Asker = "bridge" | "codexUnderPolicy" | "codex";

/** Returns the program that asks. The id of a request of the bridge itself begins with its name; ids of Codex are numbers. */
export function askerOf(id: unknown, keeper: Keeper): Asker {
  if (keeper === "codex") return "codex";
  return typeof id === "string" && id.startsWith(`${bridgeName}-`) ? "bridge" : "codexUnderPolicy";
}

interface Params {
  threadId?: string;
  turnId?: string;
  itemId?: string;
  command?: string | null;
  cwd?: string | null;
  reason?: string | null;
  kind?: string;
  availableDecisions?: unknown[] | null;
  additionalPermissions?: unknown;
  grantRoot?: string | null;
  permissions?: Record<string, unknown>;
  questions?: { id: string; header: string; question: string; isOther: boolean; isSecret: boolean; options: { label: string; description: string }[] | null }[];
  serverName?: string;
  mode?: string;
  message?: string;
  url?: string;
  requestedSchema?: { properties?: Record<string, Property>; required?: string[] };
  _meta?: { persist?: string | string[]; codex_approval_kind?: string; tool_name?: string; tool_params?: unknown; tool_params_display?: unknown } | null;
  networkApprovalContext?: object | null;
  /** Of the bridge: when it declines, and for how long it keeps an answer. Older bridges have no such member. */
  bridge?: { expiresInMs?: number; remember?: string[]; rememberMs?: number };
}

/** The bridge begins the reason of a request that leaves the sandbox with this mark. */
const leavesMark = "[codex-bridge: leaves the sandbox] ";
/** Between the bridge's sentence and the model's words, which have no double quotes. */
const statedMark = '. Stated reason (not checked): "';
/** The end of Codex's reason for a command that failed in the sandbox (0.169.0). */
const retrySuffix = "without sandbox?";

/** Splits a reason into the sentence of the policy and the words of the model. Only a policy marks what leaves the sandbox. */
function splitReason(reason: string, asker: Asker): { leaves: string; reason: string; said: string } {
  if (asker !== "codex" && reason.startsWith(leavesMark)) {
    const text = reason.slice(leavesMark.length);
    const at = text.endsWith('"') ? text.lastIndexOf(statedMark) : -1;
    return at < 0 ? { leaves: visibleLine(text), reason: "", said: "" } : { leaves: visibleLine(text.slice(0, at)), reason: "", said: visible(text.slice(at + statedMark.length, -1)) };
  }
  return asker === "bridge" ? { leaves: "", reason: visibleLine(reason), said: "" } : { leaves: "", reason: "", said: visible(reason) };
}

const serverAsks = (server: string): string => (server === bridgeName ? strings.request.serverAsks(server) : strings.request.asks(server));

/**
 * Splits the message of a question about a tool, or of an MCP server. The bridge removes Codex's mark from a question that a
 * server asks by itself, but only under a policy.
 */
function splitMessage(message: string, asker: Asker): { leaves: string; reason: string } {
  const at = asker === "bridge" ? message.indexOf(leavesMark) : -1;
  return at < 0 ? { leaves: "", reason: visible(message) } : { leaves: visibleLine(message.slice(at + leavesMark.length)), reason: visible(message.slice(0, at).trimEnd()) };
}

/** Converts a request; undefined if the user can't answer this method. changes: the content of the patch, from its item. */
export function toServerRequest(id: string, method: string, raw: unknown, changes: Change[], asker: Asker = "codex", now = Date.now()): ServerRequest | undefined {
  const p = (raw ?? {}) as Params;
  const reason = p.reason ?? "";
  const keeper: Keeper = asker === "codex" ? "codex" : "bridge";
  const request: ServerRequest = {
    id, kind: "command", title: "", threadId: p.threadId ?? "", turnId: p.turnId ?? "", itemId: p.itemId ?? "", command: "", cwd: visibleValue(p.cwd ?? ""),
    ...splitReason(reason, asker), details: "", url: "", files: [], fields: [], choices: [], keptMs: p.bridge?.rememberMs ?? 0,
    expiresAt: p.bridge?.expiresInMs ? now + p.bridge.expiresInMs : null,
  };
  switch (method) {
    case "item/commandExecution/requestApproval": {
      request.title = p.kind === "stdin" || p.kind === "writeStdin" ? strings.request.stdin : strings.request.command;
      request.command = visible(p.command ?? "");
      if (p.networkApprovalContext) request.title = strings.request.network;
      request.details = describeCommand(p).join("\n");
      if (p.networkApprovalContext) request.leaves ||= strings.request.leavesHost;
      if (p.additionalPermissions) request.leaves ||= strings.request.leavesPermissions;
      if (reason.endsWith(retrySuffix)) request.leaves ||= strings.request.leavesCommand;
      request.choices = choices(request, p, keeper, p.availableDecisions);
      return request;
    }
    case "item/fileChange/requestApproval":
      request.kind = "patch";
      request.title = strings.request.patch(changes.length);
      request.files = changes.map((change) => ({ ...countChanges(change), path: targets(change).map(visiblePath).join(" → ") }));
      if (p.grantRoot) {
        request.details = strings.request.grantRoot(visibleValue(p.grantRoot));
        request.leaves ||= strings.request.leavesPatch;
      }
      request.choices = choices(request, p, keeper, null);
      return request;
    case "item/permissions/requestApproval":
      request.kind = "permissions";
      request.title = strings.request.permissions;
      request.details = describePermissions(p.permissions).join("\n") || strings.request.nothing;
      request.leaves ||= strings.request.leavesPermissions;
      // The bridge keeps a grant of permissions for one turn.
      request.choices = keeper === "codex" ? ["accept", "acceptForSession", "decline"] : ["accept", "decline"];
      return request;
    case "item/tool/requestUserInput":
      request.kind = "question";
      request.title = strings.request.question;
      request.choices = ["submit"];
      request.fields = (p.questions ?? []).map((q) => ({
        id: q.id, label: visible(q.header), question: visible(q.question),
        type: q.options?.length ? "choice" : q.isSecret ? "secret" : "text",
        options: (q.options ?? []).map((o) => ({ value: o.label, label: visible(o.label), description: visible(o.description) })),
        free: q.isOther, required: true, initial: q.isOther ? (q.options?.[0]?.label ?? "") : "", format: "", min: null, max: null,
      }));
      return request;
    case "mcpServer/elicitation/request": {
      request.kind = "form";
      const server = visibleValue(p.serverName ?? "");
      const isAboutTool = p._meta?.codex_approval_kind === "mcp_tool_call";
      request.title = isAboutTool && asker !== "codex" ? strings.request.call(server) : asker === "bridge" ? strings.request.asks(server) : serverAsks(server);
      Object.assign(request, splitMessage(p.message ?? "", asker));
      if (isAboutTool && p._meta?.tool_name) request.command = `${visibleValue(p._meta.tool_name)} ${visibleJson(p._meta.tool_params ?? p._meta.tool_params_display ?? {})}`;
      if (isAboutTool && asker === "codex") request.details = strings.request.askerUnknown;
      request.url = p.mode === "url" && /^https?:\/\//i.test(p.url ?? "") ? (p.url ?? "") : "";
      request.fields = Object.entries(p.requestedSchema?.properties ?? {}).map(([name, property]) => toField(name, property, p.requestedSchema?.required ?? []));
      const persist = isAboutTool ? [p._meta?.persist].flat() : [];
      request.choices = choices(request, p, keeper, [...(persist.includes("session") ? ["acceptForSession"] : []), ...(persist.includes("always") ? ["acceptAlways"] : [])]);
      return request;
    }
    default:
      return undefined;
  }
}

/**
 * Returns the choices that do what they say. offered: the decisions of the request; null: it offers all. Under a policy
 * Codex keeps no answer, and the bridge keeps one for the spans that its member remember names.
 */
function choices(request: ServerRequest, p: Params, keeper: Keeper, offered: unknown[] | null | undefined): Choice[] {
  const offers = (name: string): boolean => offered?.includes(name) ?? false;
  const hasAmendment = offered?.some((one) => typeof one === "object" && one !== null && "acceptWithExecpolicyAmendment" in one) ?? false;
  if (keeper === "codex") return offers("acceptForSession") || !offered ? ["accept", "acceptForSession", "decline"] : ["accept", "decline"];
  if (request.leaves !== "") return ["accept", "decline"]; // the bridge keeps no answer to these
  const spans = p.bridge?.remember ?? (offers("acceptForSession") ? ["session"] : []);
  const session = offers("acceptForSession") && spans.includes("session");
  const always = (hasAmendment || offers("acceptAlways")) && spans.includes("always");
  return ["accept", ...(session ? ["acceptForSession" as const] : []), ...(always ? ["acceptAlways" as const] : []), "decline"];
}

/** Returns the path of a change, and the path that the file moves to. */
function targets(change: Change): string[] {
  return "move_path" in change.kind && change.kind.move_path ? [change.path, change.kind.move_path] : [change.path];
}

/** Reports whether the values may be sent with a choice. A refusal needs none. */
export function isComplete(request: ServerRequest, choice: Choice, values: Values): boolean {
  return choice === "decline" || request.kind !== "form" || request.fields.every((field) => fieldError(field, values[field.id]) === "");
}

/** Returns the result of the response. */
export function toResponse(request: ServerRequest, params: unknown, choice: Choice, values: Values): unknown {
  const yes = request.choices.includes(choice) && choice !== "decline" && isComplete(request, choice, values);
  const session = yes && choice === "acceptForSession";
  const always = yes && choice === "acceptAlways";
  switch (request.kind) {
    case "command":
    case "patch":
      return { decision: always ? amendment(params as Params) : session ? "acceptForSession" : yes ? "accept" : "decline" };
    case "permissions":
      return { permissions: yes ? ((params as Params).permissions ?? {}) : {}, scope: session ? "session" : "turn" };
    case "question":
      return { answers: Object.fromEntries(request.fields.map((f) => [f.id, { answers: values[f.id] ? [values[f.id]] : [] }])) };
    case "form":
      return { action: yes ? "accept" : "decline", content: yes ? toContent(request.fields, values) : null, _meta: session ? { persist: "session" } : always ? { persist: "always" } : null };
  }
}

/** Returns the offered decision by which the bridge keeps an answer in a folder. Codex gets a plain accept. */
function amendment(params: Params): unknown {
  return params.availableDecisions?.find((one) => typeof one === "object" && one !== null && "acceptWithExecpolicyAmendment" in one) ?? "accept";
}
