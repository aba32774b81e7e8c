import assert from "node:assert/strict";
import { test } from "node:test";
import { gateOf } from "../src/core/gate";
import type { Status } from "../src/core/protocol";

const status = (policy: Partial<Status["policy"]>, hooks: Status["hooks"]): Status => ({
  version: "1", codex: { version: "0.169.0", pid: 1 }, policy: { mode: "enforce", gate: true, ...policy }, hooks,
});

for (const [name, policy, hooks, level, short] of [
  ["in force", {}, { active: true }, "on", "gate on"],
  ["before the first turn", {}, { active: false, reason: "no thread has taken a turn yet" }, "waiting", "gate ready"],
  ["hooks that are not there", {}, { active: false, reason: "allow_managed_hooks_only is set" }, "off", "gate off"],
  ["hooks that are not there, and nobody knows why", {}, { active: false }, "off", "gate off"],
  ["no policy, whatever the hooks are", { mode: "off" }, { active: true }, "off", "gate off"],
  ["audit is no gate", { mode: "audit" }, { active: true }, "off", "audit only"],
  ["codex asks", { gate: false }, { active: true }, "on", "policy on"],
] as [string, Partial<Status["policy"]>, Status["hooks"], string, string][]) {
  test(`gate: ${name}`, () => {
    const gate = gateOf({ state: "bridge", status: status(policy, hooks) });
    assert.deepEqual([gate.level, gate.short], [level, short]);
    if (hooks.reason && level === "off") assert.ok(gate.why.includes(hooks.reason));
  });
}

test("plain codex has no gate, and says so", () => assert.equal(gateOf({ state: "plain" }).level, "off"));
test("what failed says why", () => assert.deepEqual(gateOf({ state: "failed", why: "x" }), { level: "broken", short: "not running", why: "x" }));
