// What Codex asks a person: one shape for approvals, permissions, forms of MCP servers and questions, and the way
// back from a choice to the answer that Codex understands. What is not understood is declined, never accepted.
import { bare, fileLine } from "./items";
import { commandLines, permissionLines } from "./describe";
import { visible, visibleValue } from "./text";
import type { FileLine } from "./entry";
import type { Change } from "./protocol";

export type Choice = "accept" | "acceptForSession" | "decline" | "submit";

export interface Field {
  id: string;
  label: string;
  question: string;
  type: "text" | "secret" | "number" | "boolean" | "choice";
  options: { value: string; label: string; description: string }[];
  /** Another text than the options is an answer, too. */
  free: boolean;
  required: boolean;
}

export interface Ask {
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
  files: FileLine[];
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

/** The question of a request; undefined for a request that is none. changes: what the patch would do, from its item. */
export function askOf(id: string, method: string, raw: unknown, changes: Change[]): Ask | undefined {
  const p = (raw ?? {}) as Params;
  const ask: Ask = {
    id, kind: "command", title: "", threadId: p.threadId ?? "", itemId: p.itemId ?? "", command: "", cwd: visible(p.cwd ?? ""),
    reason: visible(p.reason ?? ""), details: "", url: "", files: [], fields: [], choices: ["accept", "acceptForSession", "decline"],
  };
  switch (method) {
    case "item/commandExecution/requestApproval": {
      ask.title = p.kind === "stdin" || p.kind === "writeStdin" ? "Type this into a running command?" : "Run this command?";
      ask.command = visible(bare(p.command ?? ""));
      if (p.networkApprovalContext) ask.title = "Let this reach the network?";
      ask.details = commandLines(p).join("\n");
      if (p.availableDecisions && !p.availableDecisions.includes("acceptForSession")) ask.choices = ["accept", "decline"];
      return ask;
    }
    case "item/fileChange/requestApproval":
      ask.kind = "patch";
      ask.title = changes.length === 1 ? "Change this file?" : changes.length > 1 ? `Change these ${changes.length} files?` : "Change files?";
      ask.files = changes.map((change) => ({ ...fileLine(change), path: targets(change).map(visibleValue).join(" → ") }));
      if (p.grantRoot) ask.details = `For the session this lets Codex write below ${visibleValue(p.grantRoot)}.`;
      return ask;
    case "item/permissions/requestApproval":
      ask.kind = "permissions";
      ask.title = "Allow more than the sandbox does?";
      ask.details = permissionLines(p.permissions).join("\n") || "nothing";
      return ask;
    case "item/tool/requestUserInput":
      ask.kind = "question";
      ask.title = "Codex has a question";
      ask.choices = ["submit"];
      ask.fields = (p.questions ?? []).map((q) => ({
        id: q.id, label: visible(q.header), question: visible(q.question),
        type: q.options?.length ? "choice" : q.isSecret ? "secret" : "text",
        options: (q.options ?? []).map((o) => ({ value: o.label, label: visible(o.label), description: visible(o.description) })),
        free: q.isOther, required: true,
      }));
      return ask;
    case "mcpServer/elicitation/request":
      ask.kind = "form";
      ask.title = p._meta?.codex_approval_kind === "mcp_tool_call" ? `Let ${visibleValue(p.serverName ?? "")} be called?` : `${visibleValue(p.serverName ?? "")} asks`;
      ask.reason = visible(p.message ?? "");
      if (p._meta?.tool_name) ask.command = visible(`${p._meta.tool_name} ${JSON.stringify(p._meta.tool_params ?? p._meta.tool_params_display ?? {})}`);
      ask.url = p.mode === "url" && /^https?:\/\//i.test(p.url ?? "") ? (p.url ?? "") : "";
      ask.fields = Object.entries(p.requestedSchema?.properties ?? {}).map(([name, property]) => field(name, property, p.requestedSchema?.required ?? []));
      ask.choices = [p._meta?.persist].flat().includes("session") ? ["accept", "acceptForSession", "decline"] : ["accept", "decline"];
      return ask;
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

/** The file that a change writes, and the one that it is moved to. */
function targets(change: Change): string[] {
  return "move_path" in change.kind && change.kind.move_path ? [change.path, change.kind.move_path] : [change.path];
}

/** What Codex is told. */
export function answerOf(ask: Ask, params: unknown, choice: Choice, values: Values): unknown {
  const yes = ask.choices.includes(choice) && choice !== "decline";
  const session = yes && choice === "acceptForSession";
  switch (ask.kind) {
    case "command":
    case "patch":
      return { decision: session ? "acceptForSession" : yes ? "accept" : "decline" };
    case "permissions":
      return { permissions: yes ? ((params as Params).permissions ?? {}) : {}, scope: session ? "session" : "turn" };
    case "question":
      return { answers: Object.fromEntries(ask.fields.map((f) => [f.id, { answers: values[f.id] ? [values[f.id]] : [] }])) };
    case "form":
      return {
        action: yes ? "accept" : "decline",
        content: yes ? Object.fromEntries(ask.fields.flatMap((f) => typed(f, values[f.id]))) : null,
        _meta: session ? { persist: "session" } : null,
      };
  }
}

function typed(f: Field, value: string | undefined): [string, unknown][] {
  if (f.type === "boolean") return [[f.id, value === "true"]];
  if (value === undefined || value === "") return [];
  return [[f.id, f.type === "number" ? Number(value) : value]];
}
