// The reason for which a program ended, as a sentence for people.
import type { NoticeAction } from "./entry";
import * as strings from "./strings/bridge";

/** A line of a program's stderr, and when it came, in milliseconds. */
export interface StderrLine {
  text: string;
  at: number;
}

/** A line that is older than this at the exit is not its cause, in milliseconds. */
const maxAge = 2000;
/** Records of a log, which report what the program goes on after. */
const logRecord = /^(?:time=|\{"|\d{4}-\d\d-\d\dT\S+\s+(?:TRACE|DEBUG|INFO|WARN))/;
/** The statuses of the bridge: without a codex, and with a configuration that does not load. */
const noCodex = 127;
const badConfig = 2;

/** Describes an exit. lines: the last lines of stderr. A signal has no cause in them. */
export function exitReason(name: string, code: number | null, signal: string | null, lines: StderrLine[], now: number): string {
  if (signal) return strings.program.bySignal(name, signal);
  const last = lines.filter((line) => now - line.at <= maxAge && !logRecord.test(line.text)).at(-1)?.text ?? "";
  const cause = last.replace(/^codex-bridge: /, "");
  if (name === "codex-bridge" && code === noCodex) {
    const named = /^CODEX_BRIDGE_CODEX names (.*?), which/.exec(cause)?.[1]; // the extension sets it from its setting
    return named ? strings.program.noCodexAt(named) : strings.program.noCodex;
  }
  if (name === "codex-bridge" && code === badConfig && cause !== "") return strings.program.badConfig(cause);
  return strings.program.withStatus(name, String(code ?? "unknown"), cause);
}

/** Returns the buttons for a reason: what to change, if the reason says it, and a new start. */
export function actionsFor(why: string, otherwise: NoticeAction[]): NoticeAction[] {
  const fix = settingsNeeded(why);
  return [...(fix ? [fix] : otherwise), "restart"];
}

/** Returns the button for a reason: the settings, or the file of the policy that does not load. */
function settingsNeeded(why: string): NoticeAction | undefined {
  const bad = strings.program.badConfig("");
  if (why.startsWith(bad)) {
    const place = /^((?:\/|[A-Za-z]:[\\/]).*?):(\d+)(?::\d+)?: /.exec(why.slice(bad.length));
    return place ? { file: place[1]!, line: Number(place[2]) } : undefined;
  }
  return /codexBridge\./.test(why) ? "settings" : undefined;
}
