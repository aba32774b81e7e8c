// Finds the changes of a thread's settings that this client has not requested. Measured with Codex 0.169: each client of a
// thread gets thread/settings/updated with all settings, also the one whose turn/start changed them, and nothing says who did.
import * as bridgeStrings from "./strings/bridge";
import * as chatStrings from "./strings/chat";
import { visibleValue } from "./text";
import { toKebabCase, toSettings } from "./threadInfo";

const names = ["model", "effort", "approvalPolicy", "sandbox"] as const;
type Name = (typeof names)[number];
type Settings = Partial<Record<Name, string>>;

export class SettingsWatch {
  private known: Settings | undefined;
  private readonly requested = new Map<Name, { value: string; isInFlight: boolean }>();

  /** Takes the settings of a thread that was opened; undefined: it was left. */
  opened(raw: unknown): void {
    this.known = raw === undefined ? undefined : toTexts(raw);
    this.requested.clear();
  }

  /** Takes the members of a turn/start of this client. Another model may have another effort. */
  request(params: { model?: unknown; effort?: unknown; approvalPolicy?: unknown; sandboxPolicy?: unknown }): void {
    const texts = toTexts(params);
    const sent = { model: params.model, effort: params.effort ?? params.model, approvalPolicy: params.approvalPolicy, sandbox: params.sandboxPolicy };
    for (const name of names) if (sent[name] !== undefined) this.requested.set(name, { value: texts[name] ?? "", isInFlight: true });
  }

  /** Ends the turn of this client. The policy may have replaced a value until now. */
  completed(): void {
    for (const one of this.requested.values()) one.isInFlight = false;
  }

  /** Takes thread/settings/updated. Returns a text for each change that this client has not requested. */
  updated(raw: unknown): string[] {
    const before = this.known;
    const now = (this.known = toTexts(raw));
    if (!before) return [];
    return names.filter((name) => before[name] !== now[name] && !this.isOwn(name, now[name] ?? "")).map((name) => {
      const text = (value: string | undefined): string => value || bridgeStrings.thread.unset;
      return bridgeStrings.thread.change(bridgeStrings.thread.settings[name], text(before[name]), text(now[name]));
    });
  }

  private isOwn(name: Name, value: string): boolean {
    const own = this.requested.get(name);
    this.requested.delete(name);
    return own !== undefined && (own.isInFlight || own.value === value);
  }
}

function toTexts(raw: unknown): Settings {
  const { model, effort, approvalPolicy } = toSettings(raw);
  const { sandbox, sandboxPolicy } = (raw ?? {}) as { sandbox?: unknown; sandboxPolicy?: unknown };
  return { model: model ?? "", effort: effort ?? "", approvalPolicy: chatStrings.picker.approvalLabel(approvalPolicy ?? ""), sandbox: sandboxText(sandbox ?? sandboxPolicy) };
}

/** Returns a sandbox with what it allows beyond its type. */
function sandboxText(raw: unknown): string {
  const { type = "", networkAccess, writableRoots = [] } = (raw ?? {}) as { type?: string; networkAccess?: unknown; writableRoots?: string[] };
  const text = visibleValue(toKebabCase(type));
  const withNetwork = networkAccess === true || networkAccess === "enabled" ? bridgeStrings.thread.withNetwork(text) : text;
  return writableRoots.length > 0 ? bridgeStrings.thread.withRoots(withNetwork, writableRoots.map(visibleValue).join(", ")) : withNetwork;
}
