// The settings, plan and token usage of a thread, as Codex reports them.
import { approvalName } from "./granular";
import { visibleLine } from "./text";

export type StepStatus = "pending" | "inProgress" | "completed";

export interface Plan {
  explanation: string;
  steps: { text: string; status: StepStatus }[];
}

export interface Usage {
  /** All tokens of the thread. */
  total: number;
  /** The tokens of the last request: the size of the context. */
  context: number;
  /** The size of the model's context window; 0 if it is not known. */
  window: number;
}

export interface ThreadInfo {
  model: string;
  effort: string;
  /** Its name; see granular.ts. */
  approvalPolicy: string;
  sandbox: string;
  plan: Plan | null;
  usage: Usage | null;
}

export const noInfo: ThreadInfo = { model: "", effort: "", approvalPolicy: "", sandbox: "", plan: null, usage: null };

/** Converts workspaceWrite to workspace-write, as in the settings. */
export const toKebabCase = (type: string): string => type.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Returns the settings in the response that opened a thread, or in thread/settings/updated. */
export function toSettings(raw: unknown): Partial<ThreadInfo> {
  const { model, effort, reasoningEffort, approvalPolicy, sandbox, sandboxPolicy } = (raw ?? {}) as {
    model?: string; effort?: string | null; reasoningEffort?: string | null; approvalPolicy?: unknown; sandbox?: { type?: string }; sandboxPolicy?: { type?: string };
  };
  return {
    model: visibleLine(model ?? ""), effort: visibleLine(effort ?? reasoningEffort ?? ""),
    approvalPolicy: approvalName(approvalPolicy), sandbox: toKebabCase((sandbox ?? sandboxPolicy)?.type ?? ""),
  };
}

export function toPlan(raw: unknown): Plan {
  const { explanation, plan } = (raw ?? {}) as { explanation?: string | null; plan?: { step?: string; status?: string }[] };
  const status = (one: string | undefined): StepStatus => (one === "completed" || one === "inProgress" ? one : "pending");
  return { explanation: visibleLine(explanation ?? ""), steps: (plan ?? []).map((one) => ({ text: visibleLine(one.step ?? ""), status: status(one.status) })) };
}

export function toUsage(raw: unknown): Usage {
  const { total, last, modelContextWindow } = (raw ?? {}) as { total?: { totalTokens?: number }; last?: { totalTokens?: number }; modelContextWindow?: number | null };
  return { total: total?.totalTokens ?? 0, context: last?.totalTokens ?? 0, window: modelContextWindow ?? 0 };
}

/** Returns how much of the context window is used, in percent; undefined if that is not known. */
export const percent = ({ context, window }: Usage): number | undefined => (window > 0 ? Math.min(100, Math.round((context / window) * 100)) : undefined);
