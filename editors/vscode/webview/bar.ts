// The state of the thread around the message: the plan, the settings, the context meter and the time of the turn.
import type { Chosen } from "../src/core/choices";
import * as bridgeStrings from "../src/core/strings/bridge";
import * as chatStrings from "../src/core/strings/chat";
import { percent, type StepStatus, type ThreadInfo, type Usage } from "../src/core/threadInfo";
import type { PickerKind } from "../src/view/messages";
import { button, byId, el } from "./dom";

export interface BarActions {
  pick(kind: PickerKind): void;
  addContext(): void;
  chooseFolder(): void;
}

const marks: Record<StepStatus, string> = { pending: "○", inProgress: "◐", completed: "●" };

export class Bar {
  private readonly plan = byId("plan");
  private readonly model: HTMLButtonElement;
  private readonly permissions: HTMLButtonElement;
  private readonly folder: HTMLButtonElement;
  private readonly meter = el("span", { role: "meter", class: "meter", hidden: true });
  private readonly time = el("span", { role: "timer", class: "time", hidden: true });
  private timer: ReturnType<typeof setInterval> | undefined;
  private since = 0;

  constructor(actions: BarActions) {
    const picker = (kind: PickerKind): HTMLButtonElement => {
      const node = button("", "plain", () => actions.pick(kind));
      node.setAttribute("aria-haspopup", "dialog");
      node.id = `pick-${kind}`;
      return node;
    };
    this.model = picker("model");
    this.permissions = picker("permissions");
    const add = button("+", "plain", () => actions.addContext(), chatStrings.context.add);
    add.title = chatStrings.context.add;
    add.id = "add-context";
    this.time.setAttribute("aria-live", "off");
    this.meter.setAttribute("aria-valuemin", "0");
    this.meter.setAttribute("aria-valuemax", "100");
    this.folder = button("", "plain", () => actions.chooseFolder());
    this.folder.id = "pick-folder";
    byId("bar").append(add, this.folder, this.model, this.permissions, this.meter, this.time);
  }

  /** Shows the folder of the chat; "" hides it. */
  showFolder(folder: string): void {
    this.folder.hidden = folder === "";
    name(this.folder, folder, bridgeStrings.folder.is(folder));
  }

  show(info: ThreadInfo, chosen: Chosen): void {
    const value = (setting: keyof Chosen): string => chosen[setting] ?? info[setting];
    const model = chatStrings.picker.modelButton(value("model"), value("effort"));
    name(this.model, model, chatStrings.picker.modelIs(model));
    const permissions = chatStrings.picker.permissionsButton(value("approvalPolicy"), value("sandbox"));
    name(this.permissions, permissions, chatStrings.picker.permissionsAre(permissions));
    this.model.classList.toggle("chosen", chosen.model !== undefined || chosen.effort !== undefined);
    this.permissions.classList.toggle("chosen", chosen.approvalPolicy !== undefined || chosen.sandbox !== undefined);
    this.showUsage(info.usage);
    this.showPlan(info);
  }

  /** Shows the time since the turn has started; 0 hides it. */
  setRunning(since: number): void {
    this.since = since;
    clearInterval(this.timer);
    if (since > 0) this.timer = setInterval(() => this.tick(), 1000);
    this.tick();
  }

  private tick(): void {
    this.time.hidden = this.since === 0;
    this.time.textContent = this.since === 0 ? "" : chatStrings.chat.workingFor(Date.now() - this.since);
  }

  private showUsage(usage: Usage | null): void {
    this.meter.hidden = usage === null;
    if (!usage) return;
    const share = percent(usage);
    const text = share === undefined ? chatStrings.usage.tokens(usage.context) : chatStrings.usage.context(share);
    this.meter.textContent = text;
    this.meter.title = chatStrings.usage.title(usage.context, usage.window, usage.total);
    this.meter.setAttribute("aria-label", this.meter.title);
    this.meter.setAttribute("aria-valuenow", String(share ?? 0));
    this.meter.setAttribute("aria-valuetext", text);
    this.meter.classList.toggle("full", (share ?? 0) >= 80);
  }

  private showPlan({ plan }: ThreadInfo): void {
    const steps = plan?.steps ?? [];
    const isOpen = this.plan.querySelector("details")?.open ?? true;
    this.plan.hidden = steps.length === 0;
    if (steps.length === 0) return this.plan.replaceChildren();
    const title = chatStrings.plan.title(steps.filter((step) => step.status === "completed").length, steps.length);
    const rows = steps.map(({ text, status }) => {
      const row = el("li", {}, el("span", { class: "mark", role: "img", label: chatStrings.plan.steps[status] }, marks[status]), el("span", {}, text));
      row.dataset["status"] = status;
      return row;
    });
    const details = el("details", {}, el("summary", {}, title), ...(plan?.explanation ? [el("p", {}, plan.explanation)] : []), el("ol", {}, ...rows));
    details.open = isOpen;
    this.plan.setAttribute("aria-label", title);
    this.plan.replaceChildren(details);
  }
}

function name(node: HTMLButtonElement, text: string, label: string): void {
  node.textContent = text;
  node.title = label;
  node.setAttribute("aria-label", label);
}
