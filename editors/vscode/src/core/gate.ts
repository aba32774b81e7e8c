// The state of the gate, with the reason, as texts for the status bar.
import type { Status } from "./protocol";
import * as strings from "./strings/bridge";

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
      return { level: "waiting", short: strings.gate.notStarted, why: server.why };
    case "starting":
      return { level: "waiting", short: strings.gate.starting, why: strings.program.starting };
    case "failed":
      return { level: "broken", short: strings.gate.notRunning, why: server.why };
    case "plain":
      return { level: "off", short: strings.gate.none, why: strings.gate.whyNone };
    case "bridge":
      return fromStatus(server.status);
  }
}

function fromStatus(status: Status): Gate {
  const gate = withoutCounts(status);
  const { refused = 0, rewritten = 0 } = status.policy;
  return refused + rewritten > 0 ? { ...gate, why: `${gate.why} ${strings.gate.counts(refused, rewritten)}` } : gate;
}

function withoutCounts(status: Status): Gate {
  const { policy, hooks } = status;
  if (policy.mode === "off") return { level: "off", short: strings.gate.off, why: strings.gate.whyNoPolicy };
  if (policy.mode === "audit") return { level: "off", short: strings.gate.audit, why: strings.gate.whyAudit };
  if (!hooks.active) {
    const reason = hooks.reason ?? strings.gate.hooksOff;
    if (reason === noTurnYet) return { level: "waiting", short: strings.gate.ready, why: strings.gate.whyReady };
    return { level: "off", short: strings.gate.off, why: strings.gate.whyOff(reason) };
  }
  if (policy.gate === false) return { level: "on", short: strings.gate.policyOn, why: strings.gate.whyPolicyOn };
  return { level: "on", short: strings.gate.on, why: strings.gate.whyOn };
}
