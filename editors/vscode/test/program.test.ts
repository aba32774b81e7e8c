import assert from "node:assert/strict";
import { test } from "node:test";
import { choose, finder } from "../src/core/program";

const here = (...names: string[]) => (name: string): string | undefined => (names.includes(name) ? (name.startsWith("/") ? name : `/bin/${name}`) : undefined);
const where = { path: "codex-bridge", codexPath: "", configFile: "" };

test("choose starts the bridge with the settings", () => {
  assert.deepEqual(choose({ ...where, codexPath: "/c", configFile: "/f" }, here("codex-bridge")), {
    kind: "bridge", name: "codex-bridge", command: "/bin/codex-bridge", args: ["app-server"],
    env: { CODEX_BRIDGE_CODEX: "/c", CODEX_BRIDGE_CONFIG: "/f" }, framing: "headers",
  });
});

test("choose starts plain codex without a bridge on PATH", () => {
  const program = choose(where, here("codex"));
  assert.deepEqual([program.kind, program.command, program.framing], ["codex", "/bin/codex", "lines"]);
});

for (const [name, settings, found, error] of [
  ["a missing codexBridge.path", { path: "/opt/codex-bridge" }, ["codex"], /codexBridge\.path/],
  ["a configFile without a bridge", { configFile: "/f" }, ["codex"], /codexBridge\.configFile/],
  ["no program on PATH", {}, [], /neither/],
  ["a missing codexBridge.codexPath", { codexPath: "/opt/codex" }, ["codex"], /codexBridge\.codexPath/],
] as const) {
  test(`choose fails for ${name}`, () => assert.throws(() => choose({ ...where, ...settings }, here(...found)), error));
}

test("finder searches PATH, never the current folder", () => {
  const files = new Set(["/a/x", "/b/x", "/b/y", "./z", "z"]);
  const find = finder((file) => files.has(file), { PATH: "/a:.::/b:rel" }, false);
  assert.deepEqual(["x", "y", "z", "./z", "/b/x", "/c", ""].map(find), ["/a/x", "/b/y", undefined, undefined, "/b/x", undefined, undefined]);
});

test("finder finds programs on Windows, not scripts that need a shell", () => {
  const files = new Set(["C:\\p\\codex.EXE", "C:\\p\\other.CMD"]);
  const find = finder((file) => files.has(file), { PATH: "C:\\w;C:\\p", PATHEXT: ".COM;.EXE;.CMD" }, true);
  assert.deepEqual(["codex", "other", "codex.EXE"].map(find), ["C:\\p\\codex.EXE", undefined, "C:\\p\\codex.EXE"]);
});
