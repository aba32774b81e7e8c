// Lists the choices of a picker, each with the judgement of the policy.
import { choiceOf, type Chosen, type Group, type Judgement, type Model, optionsOf, type Setting, toTurnParams, whyNot } from "../core/choices";
import * as strings from "../core/strings/chat";
import type { PickerKind } from "../view/messages";
import type { OpenChat } from "./chats";

const settingsOf: Record<PickerKind, Setting[]> = { model: ["model", "effort"], permissions: ["approvalPolicy", "granular", "sandbox"] };

/** Lists the groups of a picker. Without a bridge, or without a policy, everything is allowed. */
export async function listChoices(chat: OpenChat, kind: PickerKind): Promise<Group[]> {
  const { session, chosen } = chat;
  const models = kind === "model" ? (await session.call<{ data: Model[] }>("model/list", {})).data : [];
  const groups = settingsOf[kind].map((setting): Group => ({ setting, label: strings.picker.groups[setting], options: optionsOf(setting, models, session.info, chosen) })).filter((group) => group.options.length > 0);
  if (!(await session.hasMethod("bridge/policy/explain"))) return groups;
  return Promise.all(groups.map(async (group) => ({ ...group, options: await Promise.all(group.options.map(async (option) => ({ ...option, why: await judge(chat, group.setting, option.value) }))) })));
}

/** Returns why the policy does not allow a value; "" if it does. The message is not sent. */
export async function judge({ session, chosen }: OpenChat, setting: Setting, value: string): Promise<string> {
  if (!(await session.hasMethod("bridge/policy/explain"))) return "";
  // An effort is judged for the model that it goes with.
  const values: Chosen = { ...(setting === "effort" && chosen.model && { model: chosen.model }), ...choiceOf(setting, value, session.info, chosen) };
  const params = { threadId: session.current ?? "none", input: [{ type: "text", text: "", text_elements: [] }], ...toTurnParams(values) };
  return whyNot(await session.call<Judgement>("bridge/policy/explain", { message: { id: 1, method: "turn/start", params } }), setting);
}
