import assert from "node:assert/strict";
import { test } from "node:test";
import { toGate } from "../src/core/gate";
import type { Status } from "../src/core/protocol";

const status = (policy: Partial<Status["policy"]>, hooks: Status["hooks"]): Status => ({
  version: "1", codex: { version: "0.169.0", pid: 1 }, policy: { mode: "enforce", gate: true, ...policy }, hooks,
});

for (const [name, policy, hooks, level, short] of [
  ["active", {}, { active: true }, "on", "gate on"],
  ["before the first turn", {}, { active: false, reason: "no thread has taken a turn yet" }, "waiting", "gate ready"],
  ["inactive hooks with a reason", {}, { active: false, reason: "allow_managed_hooks_only is set" }, "off", "gate off"],
  ["inactive hooks without a reason", {}, { active: false }, "off", "gate off"],
  ["no policy", { mode: "off" }, { active: true }, "off", "gate off"],
  ["audit", { mode: "audit" }, { active: true }, "off", "audit only"],
  ["policy.gate = false", { gate: false }, { active: true }, "on", "policy on"],
] as [string, Partial<Status["policy"]>, Status["hooks"], string, string][]) {
  test(`gate: ${name}`, () => {
    const gate = toGate({ state: "bridge", status: status(policy, hooks) });
    assert.deepEqual([gate.level, gate.short], [level, short]);
    if (hooks.reason && level === "off") assert.ok(gate.why.includes(hooks.reason));
  });
}

test("gate: plain codex", () => assert.equal(toGate({ state: "plain" }).level, "off"));
test("gate: a failed start has the reason", () => assert.deepEqual(toGate({ state: "failed", why: "x" }), { level: "broken", short: "not running", why: "x" }));
