import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "node:test";
import { actionsFor, exitReason } from "../src/core/exit";
import { start } from "../src/rpc/child";
import { ExitError } from "../src/rpc/peer";

const run = (script: string, name = "codex-bridge") =>
  start({ kind: "bridge", name, command: process.execPath, args: ["-e", script], env: {}, framing: "lines" }, process.cwd(), { notification: () => undefined, request: () => undefined }, () => undefined);

test("an exit names its cause in the words of the settings", () => {
  assert.equal(exitReason("codex-bridge", 127, null, [{ text: 'codex-bridge: no "codex" in PATH; name it with CODEX_BRIDGE_CODEX', at: 0 }], 0),
    "codex was not found. Install it with “npm install -g @openai/codex”, or set codexBridge.codexPath.");
  assert.equal(exitReason("codex-bridge", 127, null, [{ text: "codex-bridge: CODEX_BRIDGE_CODEX names /x y/codex, which can't be run: no such file or directory; install it", at: 0 }], 0),
    "/x y/codex is not an executable program; fix the setting codexBridge.codexPath");
  assert.equal(exitReason("codex-bridge", 2, null, [{ text: "codex-bridge: /c.toml:1:2: x: unknown key; remove it", at: 0 }], 0), "The policy does not load: /c.toml:1:2: x: unknown key; remove it");
  assert.equal(exitReason("codex", 1, null, [{ text: "out of memory", at: 0 }], 0), "codex exited with status 1: out of memory");
});

test("a signal, an old line and a record of the log are no cause", () => {
  const old = [{ text: "could not reach the server", at: 0 }];
  assert.equal(exitReason("codex", null, "SIGKILL", old, 0), "codex was stopped by SIGKILL");
  assert.equal(exitReason("codex", 1, null, old, 60_000), "codex exited with status 1");
  assert.equal(exitReason("codex", 1, null, [{ text: 'time=2026-03-01T09:30:00Z level=WARN msg="a hook failed"', at: 0 }], 0), "codex exited with status 1");
});

test("a reason has the button that helps", () => {
  assert.deepEqual(actionsFor(exitReason("codex-bridge", 127, null, [], 0), ["log"]), ["settings", "restart"]);
  assert.deepEqual(actionsFor("The policy does not load: /a b/c.toml:1:2: x: unknown key", []), [{ file: "/a b/c.toml", line: 1 }, "restart"]);
  assert.deepEqual(actionsFor("codex was stopped by SIGKILL", ["log"]), ["log", "restart"]);
});

test("a request to a process that ends has the reason of the exit", async () => {
  const child = run("process.stderr.write('codex-bridge: nothing to run\\n'); process.stdin.on('data', () => process.exit(3))");
  await assert.rejects(child.peer.request("initialize", {}), (cause: Error) => cause instanceof ExitError && cause.message === "codex-bridge exited with status 3: nothing to run");
  await assert.rejects(child.peer.request("later", {}), /status 3/);
});

test("a line of stderr from long before the exit is not its cause", async () => {
  const child = run("process.stderr.write('an old complaint\\n'); setTimeout(() => process.exit(1), 2300)");
  assert.equal(await child.ended, "codex-bridge exited with status 1");
  await sleep(0);
});
