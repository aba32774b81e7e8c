// The granular approval policy of Codex: for each kind of question, whether Codex asks it, or refuses without a question.
// Here it has a name, like the other approval policies: "granular:" and the kinds that Codex asks.
import { visibleValue } from "./text";

export const kinds = ["sandbox_approval", "rules", "skill_approval", "request_permissions", "mcp_elicitations"] as const;
export type Kind = (typeof kinds)[number];

const prefix = "granular:";

const nameOf = (asked: readonly Kind[]): string => prefix + asked.join(",");

/** The granular policy that asks everything. */
export const asksAll = nameOf(kinds);

export const isGranular = (name: string): boolean => name.startsWith(prefix);

/** Returns the name of an approval policy of Codex; "" if there is none. */
export function approvalName(raw: unknown): string {
  if (typeof raw === "string") return visibleValue(raw);
  const { granular } = (raw ?? {}) as { granular?: Partial<Record<Kind, unknown>> };
  return granular ? nameOf(kinds.filter((kind) => granular[kind] === true)) : "";
}

/** Returns the kinds of questions that a granular policy asks. */
export const asked = (name: string): Kind[] => kinds.filter((kind) => isGranular(name) && name.slice(prefix.length).split(",").includes(kind));

/** Returns the approval policy of a name, as Codex takes it. */
export function approvalValue(name: string): unknown {
  if (!isGranular(name)) return name;
  return { granular: Object.fromEntries(kinds.map((kind) => [kind, asked(name).includes(kind)])) };
}

/** Returns the name of a policy with one kind of questions changed: asked or not. */
export const toggle = (name: string, changed: string): string => nameOf(kinds.filter((kind) => asked(name).includes(kind) !== (kind === changed)));
