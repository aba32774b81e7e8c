// The rows of Show Status, and the entries of the lists of grants and decisions.
import { parseOrigin } from "./policy";
import type { Status } from "./protocol";
import { strings } from "./strings";
import { visibleValue } from "./text";
import type { Gate } from "./gate";

export type RowAction = "chat" | "grants" | "decisions" | "try" | "settings" | "log" | "restart";

export interface Row {
  label: string;
  value: string;
  /** What Enter does: an action, or a file to open. */
  action?: RowAction;
  open?: { file: string; line: number };
  level?: "warning" | "error";
}

/** One line of codex-bridge doctor --json. */
export interface Check {
  name: string;
  state: string;
  detail: string;
  hint?: string;
}

export interface Grant {
  id: string;
  tool: string;
  what: string;
  workspace: string;
  expires: string;
  remember: string;
}

/** One entry of codex-bridge decisions list --json. */
export interface LoggedDecision {
  seq: number;
  time: string;
  method: string;
  verdict: string;
  rule: string;
  origin: string;
  reason: string;
}

/** Returns the rows. checks: of doctor; undefined while it runs. */
export function statusRows(gate: Gate, status: Status | undefined, grants: number | undefined, checks: Check[] | undefined): Row[] {
  const s = strings.status;
  const rows: Row[] = [{ label: s.gate, value: `${gate.short}. ${gate.why}`, ...(gate.level === "broken" ? { level: "error" } : gate.level === "off" ? { level: "warning" } : {}) }];
  const check = (name: string): Check | undefined => checks?.find((one) => one.name === name);
  const policy = status?.policy;
  if (policy) rows.push({ label: s.policy, value: check("policy")?.detail ?? policy.mode });
  if (policy?.profile) rows.push({ label: s.profile, value: policy.profile });
  for (const file of policy?.files ?? configurationFiles(check("configuration"))) rows.push({ label: s.file, value: file, open: parseOrigin(file) ?? { file, line: 1 } });
  if (policy?.rules !== undefined) rows.push({ label: s.rules, value: String(policy.rules) });
  if (policy) rows.push({ label: s.counts, value: s.countsAre(policy.refused ?? 0, policy.rewritten ?? 0), action: "decisions" });
  if (grants !== undefined) rows.push({ label: s.grants, value: s.grantsAre(grants), action: "grants" });
  if (status) {
    const tested = check("methods")?.detail;
    rows.push({ label: s.codex, value: [status.codex.version || s.unknown, tested].filter(Boolean).join(": ") });
    rows.push({ label: s.bridge, value: status.version });
    rows.push({ label: s.hub, value: status.clients === undefined ? s.notShared : s.shared(status.clients) });
    rows.push({ label: s.hooks, value: status.hooks.active ? s.active : (status.hooks.reason ?? s.unknown) });
  }
  for (const one of checks ?? []) {
    if (one.state === "ok") continue;
    rows.push({ label: one.name, value: one.detail + (one.hint ? `; ${s.fix(one.hint)}` : ""), level: one.state === "broken" ? "error" : "warning" });
  }
  return rows.map((row) => ({ ...row, value: visibleValue(row.value) }));
}

/** Returns the files that doctor names. Its text has them separated by commas; without a file it starts with another word. */
function configurationFiles(check: Check | undefined): string[] {
  return (check?.detail ?? "").split(/, |; /).map((part) => part.replace(/^[a-z]+ (?=\/|[A-Za-z]:)/, "")).filter((part) => /^(?:\/|[A-Za-z]:[\\/])/.test(part) && !/:\d+:/.test(part));
}

export function grantRow(grant: Grant, now: number): { label: string; description: string; detail: string } {
  const ends = Date.parse(grant.expires);
  const minutes = Math.max(1, Math.ceil((ends - now) / 60_000));
  const expires = Number.isNaN(ends) ? grant.expires : `${new Date(ends).toLocaleTimeString()} (${minutes} min)`;
  return { label: visibleValue(grant.what), description: visibleValue(grant.tool), detail: strings.grants.kept(grant.remember, expires, visibleValue(grant.workspace)) };
}

export function decisionRow(one: LoggedDecision): { label: string; description: string; detail: string } {
  return {
    label: visibleValue(`${one.verdict} ${one.method}`), description: new Date(one.time).toLocaleString(),
    detail: visibleValue([one.reason, [one.rule, one.origin].filter(Boolean).join(", ")].filter(Boolean).join(" — ")),
  };
}

/** The message that asks the policy about a command. Nothing runs. */
export function commandQuestion(command: string, cwd: string, threadId: string): object {
  return {
    id: 1, method: "item/commandExecution/requestApproval",
    params: { threadId, turnId: "try", itemId: "try", startedAtMs: 1, command, cwd },
  };
}

/** The result of bridge/policy/explain. */
export interface Explanation {
  mode?: string;
  verdict?: string;
  error?: { data?: { rule?: string; reason?: string; origin?: string } } | null;
}

/** Describes the result of commandQuestion. */
export function describeExplanation(command: string, result: Explanation): { text: string; open?: { file: string; line: number } } {
  const name = visibleValue(command);
  if (result.mode === "off") return { text: strings.attempt.off(name) };
  if (result.verdict === "accept") return { text: strings.attempt.allowed(name) };
  if (result.verdict !== "deny") return { text: strings.attempt.open(name) };
  const { rule = "", reason = "", origin = "" } = result.error?.data ?? {};
  const open = parseOrigin(origin);
  return { text: strings.attempt.refused(name, visibleValue(/[.!?]$/.test(reason) ? reason : `${reason}.`), visibleValue(rule), visibleValue(origin)), ...(open && { open }) };
}
