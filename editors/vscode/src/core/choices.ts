// The pickers of model, effort, approval policy and sandbox: their options, and the reason why the policy does not allow one.
import { approvalValue, asked, asksAll, isGranular, kinds, toggle } from "./granular";
import { isCut } from "./policy";
import * as chatStrings from "./strings/chat";
import * as requestStrings from "./strings/requests";
import { visibleLine } from "./text";
import type { ThreadInfo } from "./threadInfo";

/** granular: the kinds of questions of a granular approval policy, each of which is chosen or not. */
export type Setting = "model" | "effort" | "approvalPolicy" | "granular" | "sandbox";
export type Chosen = Partial<Record<Exclude<Setting, "granular">, string>>;

export interface Option {
  value: string;
  label: string;
  description: string;
  /** Why the policy does not allow it; "" if it does. */
  why: string;
  selected: boolean;
}

export interface Group {
  setting: Setting;
  label: string;
  options: Option[];
}

export interface Model {
  model: string;
  displayName: string;
  description: string;
  hidden: boolean;
  isDefault: boolean;
  supportedReasoningEfforts: { reasoningEffort: string; description: string }[];
  defaultReasoningEffort: string;
}

/** The result of bridge/policy/explain of a message. */
export interface Judgement {
  mode?: string;
  verdict?: string;
  changes?: { field?: string; rule?: string; reason?: string; origin?: string; from?: unknown; to?: unknown }[] | null;
  error?: { data?: { rule?: string; reason?: string; origin?: string } } | null;
}

const settings: Setting[] = ["model", "effort", "approvalPolicy", "granular", "sandbox"];
export const isSetting = (value: unknown): value is Setting => settings.includes(value as Setting);

const sandboxTypes: Record<string, string> = { "read-only": "readOnly", "workspace-write": "workspaceWrite", "danger-full-access": "dangerFullAccess" };

/** Returns the members of turn/start that apply the chosen values to the thread. */
export function toTurnParams({ model, effort, approvalPolicy, sandbox }: Chosen): Record<string, unknown> {
  return {
    ...(model && { model }), ...(effort && { effort }), ...(approvalPolicy && { approvalPolicy: approvalValue(approvalPolicy) }),
    ...(sandbox && { sandboxPolicy: { type: sandboxTypes[sandbox] ?? sandbox } }),
  };
}

/** Returns why the policy does not allow a value, with the rule and its place; "" if it does. */
export function whyNot(judgement: Judgement, setting: Setting): string {
  if (judgement.mode !== "enforce") return "";
  const field = `params.${setting === "sandbox" ? "sandboxPolicy" : setting === "granular" ? "approvalPolicy" : setting}`;
  const cut = judgement.verdict === "deny"
    ? (judgement.error?.data ?? {})
    : (judgement.changes ?? []).find((change) => (change.field === field || change.field?.startsWith(`${field}.`)) && isCut(change));
  if (!cut) return "";
  const reason = visibleLine(cut.reason ?? "") || requestStrings.policy.noReason;
  return chatStrings.picker.why(reason, visibleLine(cut.rule ?? ""), visibleLine(cut.origin ?? "") || requestStrings.policy.noPlace);
}

/** Returns the choice that an option of a picker stands for: that of a kind of questions changes the approval policy. */
export function choiceOf(setting: Setting, value: string, info: ThreadInfo, chosen: Chosen): Chosen {
  if (setting !== "granular") return { [setting]: value };
  return { approvalPolicy: toggle(chosen.approvalPolicy ?? info.approvalPolicy, value) };
}

/** Returns the options of a setting, without the judgement of the policy. */
export function optionsOf(setting: Setting, models: Model[], info: ThreadInfo, chosen: Chosen): Option[] {
  const option = (value: string, label: string, description: string, selected = value === current): Option => ({ value, label: visibleLine(label), description: visibleLine(description), why: "", selected });
  const model = currentModel(models, info, chosen);
  const approval = chosen.approvalPolicy ?? info.approvalPolicy;
  if (setting === "granular") {
    const asks = asked(approval);
    return isGranular(approval) ? kinds.map((kind) => option(kind, chatStrings.picker.kinds[kind], asks.includes(kind) ? chatStrings.picker.asks : chatStrings.picker.refuses, asks.includes(kind))) : [];
  }
  const current = chosen[setting] ?? (info[setting] || (setting === "model" ? model?.model : setting === "effort" ? model?.defaultReasoningEffort : ""));
  switch (setting) {
    case "model":
      return models.filter((one) => !one.hidden || one.model === current).map((one) => option(one.model, one.displayName, one.description));
    case "effort":
      return (model?.supportedReasoningEfforts ?? []).map((one) => option(one.reasoningEffort, one.reasoningEffort, one.description));
    case "approvalPolicy": {
      const { granular, ...others } = chatStrings.picker.approvalPolicy;
      const options = Object.entries(others).map(([value, description]) => option(value, value, description));
      const name = isGranular(approval) ? approval : asksAll;
      const words = (wanted: boolean): string[] => kinds.filter((kind) => asked(name).includes(kind) === wanted).map((kind) => chatStrings.picker.kinds[kind]);
      options.splice(-1, 0, option(name, chatStrings.picker.approvalLabel(name), granular(words(true), words(false)))); // before "never"
      return options;
    }
    case "sandbox":
      return Object.entries(chatStrings.picker[setting]).map(([value, description]) => option(value, value, description));
  }
}

function currentModel(models: Model[], info: ThreadInfo, chosen: Chosen): Model | undefined {
  const name = chosen.model ?? info.model;
  return models.find((one) => one.model === name) ?? (name === "" ? models.find((one) => one.isDefault) : undefined);
}
