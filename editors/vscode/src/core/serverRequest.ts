// Requests of the server that the user answers: approvals, permissions, forms of MCP servers and questions. It converts
// them to one type, and the user's choice to the response. A choice that was not offered is declined.
import { stripShell, countChanges } from "./items";
import { describeCommand, describePermissions } from "./describe";
import { visible, visibleValue } from "./text";
import type { FileChange } from "./entry";
import type { Change } from "./protocol";

export type Choice = "accept" | "acceptForSession" | "decline" | "submit";

export interface Field {
  id: string;
  label: string;
  question: string;
  type: "text" | "secret" | "number" | "boolean" | "choice";
  options: { value: string; label: string; description: string }[];
  /** Whether the user may enter a text that is not among the options. */
  free: boolean;
  required: boolean;
}

export interface ServerRequest {
  id: string;
  kind: "command" | "patch" | "permissions" | "form" | "question";
  title: string;
  threadId: string;
  itemId: string;
  command: string;
  cwd: string;
  reason: string;
  details: string;
  url: string;
  files: FileChange[];
  fields: Field[];
  choices: Choice[];
}

export type Values = Record<string, string>;

interface Params {
  threadId?: string;
  itemId?: string;
  command?: string | null;
  cwd?: string | null;
  reason?: string | null;
  kind?: string;
  availableDecisions?: unknown[] | null;
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
}

interface Property {
  type?: string;
  title?: string;
  description?: string;
  enum?: string[];
  enumNames?: string[];
  oneOf?: { const: string; title?: string }[];
}

/** Converts a request; undefined if the user can't answer this method. changes: the content of the patch, from its item. */
export function toServerRequest(id: string, method: string, raw: unknown, changes: Change[]): ServerRequest | undefined {
  const p = (raw ?? {}) as Params;
  const request: ServerRequest = {
    id, kind: "command", title: "", threadId: p.threadId ?? "", itemId: p.itemId ?? "", command: "", cwd: visible(p.cwd ?? ""),
    reason: visible(p.reason ?? ""), details: "", url: "", files: [], fields: [], choices: ["accept", "acceptForSession", "decline"],
  };
  switch (method) {
    case "item/commandExecution/requestApproval": {
      request.title = p.kind === "stdin" || p.kind === "writeStdin" ? "Type this into a running command?" : "Run this command?";
      request.command = visible(stripShell(p.command ?? ""));
      if (p.networkApprovalContext) request.title = "Allow network access?";
      request.details = describeCommand(p).join("\n");
      if (p.availableDecisions && !p.availableDecisions.includes("acceptForSession")) request.choices = ["accept", "decline"];
      return request;
    }
    case "item/fileChange/requestApproval":
      request.kind = "patch";
      request.title = changes.length === 1 ? "Change this file?" : changes.length > 1 ? `Change these ${changes.length} files?` : "Change files?";
      request.files = changes.map((change) => ({ ...countChanges(change), path: targets(change).map(visibleValue).join(" → ") }));
      if (p.grantRoot) request.details = `This lets Codex write below ${visibleValue(p.grantRoot)} for the session.`;
      return request;
    case "item/permissions/requestApproval":
      request.kind = "permissions";
      request.title = "Allow more than the sandbox?";
      request.details = describePermissions(p.permissions).join("\n") || "nothing";
      return request;
    case "item/tool/requestUserInput":
      request.kind = "question";
      request.title = "Codex has a question";
      request.choices = ["submit"];
      request.fields = (p.questions ?? []).map((q) => ({
        id: q.id, label: visible(q.header), question: visible(q.question),
        type: q.options?.length ? "choice" : q.isSecret ? "secret" : "text",
        options: (q.options ?? []).map((o) => ({ value: o.label, label: visible(o.label), description: visible(o.description) })),
        free: q.isOther, required: true,
      }));
      return request;
    case "mcpServer/elicitation/request":
      request.kind = "form";
      request.title = p._meta?.codex_approval_kind === "mcp_tool_call" ? `Call ${visibleValue(p.serverName ?? "")}?` : `${visibleValue(p.serverName ?? "")} asks`;
      request.reason = visible(p.message ?? "");
      if (p._meta?.tool_name) request.command = visible(`${p._meta.tool_name} ${JSON.stringify(p._meta.tool_params ?? p._meta.tool_params_display ?? {})}`);
      request.url = p.mode === "url" && /^https?:\/\//i.test(p.url ?? "") ? (p.url ?? "") : "";
      request.fields = Object.entries(p.requestedSchema?.properties ?? {}).map(([name, property]) => field(name, property, p.requestedSchema?.required ?? []));
      request.choices = [p._meta?.persist].flat().includes("session") ? ["accept", "acceptForSession", "decline"] : ["accept", "decline"];
      return request;
    default:
      return undefined;
  }
}

function field(id: string, p: Property, required: string[]): Field {
  const options = p.oneOf?.map((o) => ({ value: o.const, label: o.title ?? o.const, description: "" }))
    ?? p.enum?.map((value, i) => ({ value, label: p.enumNames?.[i] ?? value, description: "" }))
    ?? [];
  const type = options.length ? "choice" : p.type === "boolean" ? "boolean" : p.type === "number" || p.type === "integer" ? "number" : "text";
  return { id, label: p.title ?? id, question: p.description ?? "", type, options, free: false, required: required.includes(id) };
}

/** Returns the path of a change, and the path that the file moves to. */
function targets(change: Change): string[] {
  return "move_path" in change.kind && change.kind.move_path ? [change.path, change.kind.move_path] : [change.path];
}

/** Returns the result of the response. */
export function toResponse(request: ServerRequest, params: unknown, choice: Choice, values: Values): unknown {
  const yes = request.choices.includes(choice) && choice !== "decline";
  const session = yes && choice === "acceptForSession";
  switch (request.kind) {
    case "command":
    case "patch":
      return { decision: session ? "acceptForSession" : yes ? "accept" : "decline" };
    case "permissions":
      return { permissions: yes ? ((params as Params).permissions ?? {}) : {}, scope: session ? "session" : "turn" };
    case "question":
      return { answers: Object.fromEntries(request.fields.map((f) => [f.id, { answers: values[f.id] ? [values[f.id]] : [] }])) };
    case "form":
      return {
        action: yes ? "accept" : "decline",
        content: yes ? Object.fromEntries(request.fields.flatMap((f) => typed(f, values[f.id]))) : null,
        _meta: session ? { persist: "session" } : null,
      };
  }
}

function typed(f: Field, value: string | undefined): [string, unknown][] {
  if (f.type === "boolean") return [[f.id, value === "true"]];
  if (value === undefined || value === "") return [];
  return [[f.id, f.type === "number" ? Number(value) : value]];
}
