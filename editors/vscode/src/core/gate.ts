// Whether the gate is in force, and why not, in the words of the status bar.
import type { Status } from "./protocol";

export interface Gate {
  level: "on" | "waiting" | "off" | "broken";
  short: string;
  why: string;
}

export type Server =
  | { state: "stopped"; why: string }
  | { state: "starting" }
  | { state: "failed"; why: string }
  | { state: "plain" }
  | { state: "bridge"; status: Status };

/** Until a thread has taken a turn the bridge has nothing to verify: that is no fault. */
const before = "no thread has taken a turn yet";

export function gateOf(server: Server): Gate {
  switch (server.state) {
    case "stopped":
      return { level: "waiting", short: "not started", why: server.why };
    case "starting":
      return { level: "waiting", short: "starting", why: "The app-server is being started." };
    case "failed":
      return { level: "broken", short: "not running", why: server.why };
    case "plain":
      return { level: "off", short: "no gate", why: "codex runs without codex-bridge, which is not on PATH: no policy is in force but Codex's own settings." };
    case "bridge":
      return ofStatus(server.status);
  }
}

function ofStatus(status: Status): Gate {
  const { policy, hooks } = status;
  if (policy.mode === "off") return { level: "off", short: "gate off", why: "The bridge's configuration has no policy. `codex-bridge init` writes one." };
  if (policy.mode === "audit") return { level: "off", short: "audit only", why: "The policy is in mode audit: it records what it would do, and changes nothing." };
  if (!hooks.active) {
    const reason = hooks.reason ?? "its hooks are not in force";
    if (reason === before) return { level: "waiting", short: "gate ready", why: "The policy is in force. Its hooks are verified before the first turn of a thread." };
    return { level: "off", short: "gate off", why: `The policy is in force, but ${reason}.` };
  }
  if (policy.gate === false) return { level: "on", short: "policy on", why: "The policy and its hooks are in force. Codex, not the bridge, decides when to ask (policy.gate = false)." };
  return { level: "on", short: "gate on", why: "The policy is in force, and its hooks were verified." };
}
