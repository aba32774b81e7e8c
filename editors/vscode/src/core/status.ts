// The rows of Show Status, and the entries of the lists of grants and decisions.
import { parseOrigin } from "./policy";
import type { Status } from "./protocol";
import * as strings from "./strings/bridge";
import { visibleLine, visibleValue } from "./text";
import type { Gate } from "./gate";

export type RowAction = "chat" | "grants" | "decisions" | "try" | "settings" | "log" | "restart";

export interface Row {
  label: string;
  value: string;
  /** The effect of Enter: an action, or a file to open. */
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
  const configuration = status?.configuration;
  if (policy) rows.push({ label: s.policy, value: check("policy")?.detail ?? policy.mode });
  if (configuration?.profile) rows.push({ label: s.profile, value: configuration.profile });
  for (const file of configuration?.files ?? configurationFiles(check("configuration"))) rows.push({ label: s.file, value: file, open: { file, line: 1 } });
  if (configuration) {
    rows.push({ label: s.rules, value: s.rulesAre(configuration.ruleCount) });
    for (const rule of configuration.rules) {
      const about = [rule.tool, rule.command, rule.path].filter(Boolean).join(" ");
      const open = parseOrigin(rule.origin);
      rows.push({ label: s.rule, value: [`${rule.decision} ${about}`, rule.reason, rule.origin].filter(Boolean).join(" — "), ...(open && { open }) });
    }
    if (configuration.remember) rows.push({ label: s.remember, value: s.remembers(configuration.remember, configuration.rememberMs ?? 0) });
  }
  if (policy) rows.push({ label: s.counts, value: s.countsAre(policy.refused ?? 0, policy.rewritten ?? 0), action: "decisions" });
  if (grants !== undefined) rows.push({ label: s.grants, value: s.grantsAre(grants), action: "grants" });
  if (status) {
    const { version, tested } = status.codex;
    rows.push({ label: s.codex, value: [version || s.unknown, tested ? s.tested(tested) : check("methods")?.detail].filter(Boolean).join("; ") });
    rows.push({ label: s.bridge, value: status.version });
    rows.push({ label: s.hub, value: status.clients === undefined ? s.notShared : s.shared(status.clients) });
    rows.push({ label: s.hooks, value: status.hooks.active ? s.active : (status.hooks.reason ?? s.unknown) });
  }
  for (const one of checks ?? []) {
    if (one.state === "ok") continue;
    rows.push({ label: one.name, value: one.detail + (one.hint ? `; ${s.fix(one.hint)}` : ""), level: one.state === "broken" ? "error" : "warning" });
  }
  return rows.map((row) => ({ ...row, value: visibleLine(row.value) }));
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

const maxReason = 150;

export function decisionRow(one: LoggedDecision): { label: string; description: string; detail: string } {
  const word = strings.decisions.verdicts[one.verdict] ?? one.verdict;
  const reason = one.reason.length > maxReason ? `${one.reason.slice(0, maxReason)}…` : one.reason;
  return {
    label: visibleLine(`${word}: ${reason || one.method}`), description: new Date(one.time).toLocaleString(),
    detail: visibleLine([one.rule, one.origin, one.method].filter(Boolean).join(" — ")),
  };
}

/** The message that asks an older bridge about a command. Nothing runs. */
export function commandQuestion(command: string, cwd: string, threadId: string): object {
  return {
    id: 1, method: "item/commandExecution/requestApproval",
    params: { threadId, turnId: "try", itemId: "try", startedAtMs: 1, command, cwd },
  };
}

/** The result of bridge/policy/explain: of a command, or of a message. */
export interface Explanation {
  mode?: string;
  decision?: "deny" | "ask" | "allow";
  reason?: string;
  rule?: string;
  origin?: string;
  verdict?: string;
  error?: { data?: { rule?: string; reason?: string; origin?: string } } | null;
}

/** Describes what the policy says to a command. */
export function describeExplanation(command: string, result: Explanation): { text: string; open?: { file: string; line: number } } {
  const name = visibleValue(command);
  if (result.mode === "off") return { text: strings.attempt.off(name) };
  const { rule = "", reason = "", origin = "" } = result.decision ? result : (result.error?.data ?? {});
  const open = parseOrigin(origin);
  const why = visibleLine(/^$|[.!?]$/.test(reason) ? reason : `${reason}.`);
  const decision = result.decision ?? (result.verdict === "deny" ? "deny" : result.verdict === "accept" ? "allow" : undefined);
  const place = strings.attempt.place(visibleLine(rule), visibleLine(origin));
  const text = decision ? [strings.attempt[decision](name), why, place].filter(Boolean).join(" ") : strings.attempt.open(name);
  return { text, ...(open && { open }) };
}
