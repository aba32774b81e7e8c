// The state of the gate, with the reason, as texts for the status bar.
import type { Status } from "./protocol";

export interface Gate {
  level: "on" | "waiting" | "off" | "broken";
  short: string;
  why: string;
}

export type ServerState =
  | { state: "stopped"; why: string }
  | { state: "starting" }
  | { state: "failed"; why: string }
  | { state: "plain" }
  | { state: "bridge"; status: Status };

/** The bridge's reason before the first turn. It is no error: the bridge verifies hooks with a turn. */
const noTurnYet = "no thread has taken a turn yet";

export function toGate(server: ServerState): Gate {
  switch (server.state) {
    case "stopped":
      return { level: "waiting", short: "not started", why: server.why };
    case "starting":
      return { level: "waiting", short: "starting", why: "The app-server is starting." };
    case "failed":
      return { level: "broken", short: "not running", why: server.why };
    case "plain":
      return { level: "off", short: "no gate", why: "codex runs without codex-bridge, which is not on PATH. No policy is enforced; only Codex's own settings apply." };
    case "bridge":
      return fromStatus(server.status);
  }
}

function fromStatus(status: Status): Gate {
  const { policy, hooks } = status;
  if (policy.mode === "off") return { level: "off", short: "gate off", why: "The bridge's configuration has no policy. `codex-bridge init` writes one." };
  if (policy.mode === "audit") return { level: "off", short: "audit only", why: "The policy has mode audit: the bridge logs its decisions, but changes nothing." };
  if (!hooks.active) {
    const reason = hooks.reason ?? "its hooks are not active";
    if (reason === noTurnYet) return { level: "waiting", short: "gate ready", why: "The policy is active. The bridge verifies its hooks before the first turn of a thread." };
    return { level: "off", short: "gate off", why: `The policy is active, but ${reason}.` };
  }
  if (policy.gate === false) return { level: "on", short: "policy on", why: "The policy and its hooks are active. Codex, not the bridge, decides when to ask (policy.gate = false)." };
  return { level: "on", short: "gate on", why: "The policy is active, and its hooks are verified." };
}
