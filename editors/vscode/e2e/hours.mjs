// An hour's work under each profile of init. The Go test has the steps, and what becomes of them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./user.mjs";

/** Makes the workspace a repository without a commit, with a test. */
function emptyRepository(workspace) {
  for (const name of [".git", "made.txt", "tested"]) rmSync(join(workspace, name), { recursive: true, force: true });
  writeFileSync(join(workspace, "test.sh"), "touch tested\n");
  for (const args of [["init", "-q", "-b", "main"], ["config", "user.name", "a"], ["config", "user.email", "a@example.org"]])
    execFileSync("git", args, { cwd: workspace });
}

/** Sends a prompt, accepts the questions of its turn, and returns their number. */
async function acceptAll(p, prompt) {
  const turns = p.chat.locator(".user:not(.pending)");
  const before = await turns.count();
  await p.send(prompt);
  await until("the turn has started", async () => (await turns.count()) > before);
  const accept = p.chat.locator('.request [data-choice="accept"]').first();
  let asked = 0;
  await until("the turn has ended", async () => {
    if (await accept.isVisible()) {
      await accept.click();
      await accept.waitFor({ state: "hidden" });
      asked++;
    }
    return !(await p.chat.locator("#stop").isVisible());
  });
  return asked;
}

export const hours = {
  async "with each profile, the user can do what it promises"(p) {
    const { CODEX_BRIDGE_CONFIG, CODEX_BRIDGE_HOURS, CODEX_BRIDGE_PROXY, CODEX_BRIDGE_ROOT } = process.env;
    const { steps, profiles } = JSON.parse(CODEX_BRIDGE_HOURS);
    p.code.machine({ "codexBridge.path": CODEX_BRIDGE_PROXY });
    for (const [profile, results] of Object.entries(profiles)) {
      emptyRepository(p.code.workspace);
      writeFileSync(CODEX_BRIDGE_CONFIG, execFileSync(CODEX_BRIDGE_PROXY, ["init", "--profile", profile, "--stdout"]));
      await p.toChat("New Thread");
      await p.command("Codex Bridge: Restart");
      await p.toChat();
      for (const { name, prompt, file } of steps) {
        const asked = await acceptAll(p, prompt);
        const done = file ? existsSync(join(CODEX_BRIDGE_ROOT, file)) : (await p.chat.locator(".assistant").last().innerText()).includes("On branch main");
        assert.deepEqual({ asked, done }, results[name], `${profile}: ${name}: ${await p.chat.locator(".assistant").last().innerText()}`);
      }
    }
  },
};
