// Converts bridge/policy/applied, and errors with the data of a refusal, to cards of the chat.
import * as strings from "./strings/requests";
import { visible, visibleJson, visibleLine, visibleValue } from "./text";

/** One decision of a card. All texts are safe to show. */
export interface Decision {
  what: string;
  why: string;
  rule: string;
  /** The layer, file and line that set the rule, or a text that no file does. */
  where: string;
  /** Whether where names a file. */
  canOpen: boolean;
  explanation: string[];
}

export type Card = "refused" | "changed" | "expired";

export interface PolicyCard {
  card: Card;
  decisions: Decision[];
}

interface Change {
  field?: string;
  rule?: string;
  reason?: string;
  origin?: string;
  from?: unknown;
  to?: unknown;
  /** Whether the thread may do less than Codex's configuration says. Older bridges do not say it. */
  narrows?: boolean;
}

export interface Refusal {
  method?: string;
  rule?: string;
  reason?: string;
  field?: string;
  origin?: string;
  hint?: string;
}

/** The params of bridge/policy/applied. Older bridges have no turnId, itemId and what. */
export interface Applied {
  method?: string;
  id?: unknown;
  threadId?: string;
  itemId?: string;
  what?: string;
  verdict?: string;
  changes?: Change[] | null;
  error?: Refusal | null;
}

/** The error codes of a refusal: by the policy, and of a thread that is not verified. */
const refusalCodes = [-32010, -32013];
const timeoutRule = "approvals.timeout";
const gateRule = "policy.gate";
const protectedRule = "policy.protected_paths";
/** The rule of a request that leaves the sandbox. The card of the request shows this change. */
export const escalationRule = "policy.escalation";

/** Reports whether the bridge has declined an approval because no answer came. */
export const isTimeout = (applied: Applied): boolean => applied.verdict === "deny" && applied.error?.rule === timeoutRule;

/** Returns the card of a decision; undefined if it took nothing away. what: the call that it is about, if the bridge does not say. */
export function toCard(applied: Applied, what = ""): PolicyCard | undefined {
  if (applied.verdict === "deny") return refusalCard(applied.error ?? {}, applied.method ?? "", visible(applied.what || what), isTimeout(applied) ? "expired" : "refused");
  if (applied.verdict !== "rewrite") return undefined;
  const cuts = (applied.changes ?? []).filter(isCut);
  if (cuts.length === 0) return undefined;
  return { card: "changed", decisions: cuts.map((change) => changeDecision(change, applied.method ?? "", applied.what ?? "")) };
}

/** The methods of decisions about Codex. A refused request of the client has an error, which is shown in place of its result. */
const fromCodex = /^(?:hook|item|acp)\/|^mcpServer\/elicitation\/request$|^(?:execCommand|applyPatch)Approval$|^answer$/;

/** Reports whether a refusal is the error of a request of the client. */
export const isErrorOfRequest = (applied: Applied): boolean => applied.verdict === "deny" && applied.id !== undefined && !fromCodex.test(applied.method ?? "");

/** Returns the card of an error of a request; undefined if the error is no refusal by the policy. */
export function errorCard(cause: unknown): PolicyCard | undefined {
  const { code, data } = (cause ?? {}) as { code?: number; data?: Refusal };
  if (code === undefined || !refusalCodes.includes(code) || typeof data?.rule !== "string") return undefined;
  return refusalCard(data, data.method ?? "", "", "refused");
}

/** Returns the file and the line of an origin such as "user /home/you/config.toml:4". */
export function parseOrigin(origin: string): { file: string; line: number } | undefined {
  const match = /(?:^|\s)(\/.*|[A-Za-z]:[\\/].*):(\d+)$/.exec(origin);
  return match ? { file: match[1]!, line: Number(match[2]) } : undefined;
}

/** Reports whether a change takes something away: from the client's message, or from what Codex's configuration allows. */
export function isCut(change: Change): boolean {
  if (change.narrows === true) return true;
  if (change.from === undefined || change.from === null) return false; // the bridge added a value that the client left open
  if (change.rule === gateRule) return false; // the client's approval policy applies; the bridge asks in Codex's place
  if (change.rule === protectedRule && change.to === undefined) return false; // the bridge's own profile has the client's sandbox
  return !(change.rule === escalationRule && change.field === "params.reason");
}

function refusalCard(refusal: Refusal, method: string, what: string, card: Card): PolicyCard {
  const place = refusal.field ? `${method}: ${fieldName(refusal.field)}` : method;
  const about = what || (method.startsWith("hook/") ? strings.policy.aCall : visibleLine(place));
  return { card, decisions: [decision(about, refusal, method, refusal.hint ?? "", [])] };
}

function changeDecision(change: Change, method: string, call: string): Decision {
  const from = "from" in change ? value(change.from) : strings.policy.absent;
  const to = "to" in change ? value(change.to) : strings.policy.removed;
  const text = strings.policy.changes(fieldName(change.field ?? ""), from, to);
  return decision(text, change, method.startsWith("hook/") ? "" : method, "", call ? [visible(call)] : []);
}

function decision(what: string, from: { rule?: string; reason?: string; origin?: string }, method: string, hint: string, more: string[]): Decision {
  const where = visibleLine(from.origin ?? "");
  const canOpen = parseOrigin(from.origin ?? "") !== undefined;
  const fix = hint ? strings.policy.hint(visibleLine(hint)) : canOpen ? strings.policy.edit : strings.policy.notConfigurable;
  return {
    what, why: visibleLine(from.reason ?? "") || strings.policy.noReason, rule: visibleLine(from.rule ?? ""), where: where || strings.policy.noPlace, canOpen,
    explanation: [...more, ...(method.startsWith("hook/") ? [strings.policy.notRun] : method ? [strings.policy.message(visibleLine(method))] : []), fix],
  };
}

const fieldName = (field: string): string => visibleLine(field.replace(/^(?:params|result)\./, ""));

const maxValue = 200;

function value(raw: unknown): string {
  const text = typeof raw === "string" ? visibleValue(raw) : raw === undefined ? "" : visibleJson(raw);
  return text.length > maxValue ? `${text.slice(0, maxValue)}…` : text;
}
