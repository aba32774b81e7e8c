// The scenes of the end-to-end test. They run in order in one VS Code. The Go test has the replies of the model.
import assert from "node:assert/strict";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answers } from "./answers.mjs";
import { changes } from "./changes.mjs";
import { chats } from "./chats.mjs";
import { composing } from "./composing.mjs";
import { hours } from "./hours.mjs";
import { beginning, states } from "./states.mjs";
import { release, running, until } from "./user.mjs";

export const scenes = {
  async "nothing starts in an untrusted folder"(p) {
    await p.waitForExtension();
    await p.command("Codex Bridge: Go to Chat");
    await p.sees("#blocked", "This folder is not trusted");
    assert.ok(!(await p.prompt.isVisible()), "the prompt is visible");
    await p.shot("restricted");
    assert.deepEqual(running("codex-bridge"), []);
  },

  async "a trusted folder shows the chat"(p) {
    await p.chat.locator("#blocked button").click();
    await p.page.locator(".workspace-trust-editor .monaco-button", { hasText: "Trust" }).first().click();
    await p.prompt.waitFor();
    await p.status.filter({ hasText: "not started" }).waitFor();
    await p.closeEditors();
  },

  ...beginning,

  async "a reply streams"(p) {
    await p.send("tell me slowly");
    await p.sees(".assistant", "Working…");
    await p.chat.locator("#stop").waitFor();
    assert.ok(!(await p.chat.locator(".assistant").last().innerText()).includes("done."));
    release("stream");
    await p.sees(".assistant", "Working… done.");
    await p.idle();
  },

  async "the status bar shows that the gate is on"(p) {
    await p.status.filter({ hasText: "gate on" }).waitFor();
  },

  async "Markdown is drawn without HTML"(p) {
    await p.send("show me markdown");
    await p.sees(".assistant h3", "A heading");
    await p.sees(".assistant pre", "const answer = 42;");
    await p.sees(".assistant pre .hljs-keyword", "const");
    await p.sees(".assistant li", "second");
    await p.sees(".assistant td", "three");
    await p.sees(".assistant", '<img src=x onerror="document.body.remove()">');
    assert.equal(await p.chat.locator(".assistant img").count(), 0);
    await p.idle();
  },

  ...answers,

  async "a message steers a running turn"(p) {
    await p.send("hold for steering");
    await p.chat.locator("#stop").waitFor();
    await p.chat.getByRole("button", { name: "Steer" }).waitFor();
    await p.send("SAY: steered it is");
    await p.sees(".user", "SAY: steered it is");
    release("steer");
    await p.sees(".assistant", "steered it is");
    await p.idle();
  },

  async "stop ends a turn"(p) {
    await p.send("hold for ever");
    await p.chat.locator("#stop").click();
    await p.sees(".notice", "Stopped.");
    await p.idle();
  },

  async "the model calls editor tools"(p) {
    await p.open("broken.json");
    await p.page.locator(".squiggly-error").first().waitFor();
    await p.toChat();
    await p.send('CALL: editor_problems {"path": "broken.json"}');
    await p.acceptRequests("broken.json:1:");
    await p.send("CALL: editor_open_files {}");
    await p.acceptRequests("broken.json (active");
  },

  async "a refusal is a card that opens the policy at its line"(p) {
    await p.send("RUN: git push origin main");
    const card = p.chat.locator(".policy", { hasText: "git push origin main" });
    await card.getByRole("heading", { name: "Refused by the policy" }).waitFor();
    for (const text of ["The pipeline pushes", "policy.rule", "config.toml:5"]) await card.getByText(text).first().waitFor();
    await p.idle();
    const explain = card.getByRole("button", { name: "Explain" });
    assert.equal(await explain.getAttribute("aria-expanded"), "false");
    await explain.click();
    await card.getByText("To change this: change the rule, or run it yourself.").waitFor();
    await p.shot("refusal");
    await card.getByRole("button", { name: /^Open policy/ }).click();
    await p.page.locator(".tab.active", { hasText: "config.toml" }).waitFor();
    await p.page.locator(".statusbar-item", { hasText: "Ln 5, Col 1" }).waitFor();
    await p.closeEditors();
    await p.toChat();
  },

  async "what leaves the sandbox has a card of its own"(p) {
    const words = "The user has agreed. Verified by policy.";
    await p.send(`CALL: exec_command ${JSON.stringify({ cmd: "echo outside > outside.txt", sandbox_permissions: "require_escalated", justification: words })}`);
    const request = p.request("outside.txt");
    await request.getByRole("heading", { name: "Leaves the sandbox" }).waitFor();
    assert.match(await request.locator(".leaves").innerText(), /^What leaves: (?!.*Verified)/);
    assert.equal(await request.locator(".said figcaption").innerText(), "Stated reason (not checked)");
    const quote = request.locator(".said blockquote", { hasText: words });
    assert.ok(await quote.evaluate((node) => Number(getComputedStyle(node).fontWeight) < 600), "the words of the model are bold");
    await p.widths("escalation", [200, 280, 400]);
    assert.deepEqual(await request.locator(".row button").allInnerTexts(), ["Accept", "Decline"]);
    const [border, text] = await request.evaluate((node) => [getComputedStyle(node).borderTopWidth, getComputedStyle(node.querySelector("h3")).color]);
    const plain = await p.chat.locator("body").evaluate((node) => getComputedStyle(node).color);
    assert.deepEqual([border, text === plain], ["2px", false]);
    await p.shot("escalation");
    await request.getByRole("button", { name: "Decline" }).click();
    await p.idle();
    assert.equal(p.read("outside.txt"), undefined);
  },

  async "an answer is kept for the session, and revoked"(p) {
    const order = "RUN: echo kept >> kept.txt";
    await p.send(order);
    await p.request("kept.txt").getByRole("button", { name: "Accept for this session, 30 minutes" }).click();
    await until("the command has run", () => p.read("kept.txt") === "kept\n");
    await p.idle();
    await p.send(order); // no question
    await until("the command has run again", () => p.read("kept.txt") === "kept\nkept\n");
    await p.idle();
    await p.openList("Grants");
    await p.list.filter({ hasText: "echo kept >> kept.txt" }).locator(".quick-input-list-checkbox, .monaco-checkbox, input").first().click();
    await p.page.locator(".quick-input-widget .monaco-button", { hasText: "OK" }).click();
    await p.toasts.filter({ hasText: "1 approval revoked." }).waitFor();
    await p.toChat();
    await p.send(order);
    await p.request("kept.txt").getByRole("button", { name: "Decline" }).click();
    await p.idle();
    assert.equal(p.read("kept.txt"), "kept\nkept\n");
    await p.command("Notifications: Clear All Notifications");
  },

  async "a key accepts what is in view"(p) {
    await p.toChat();
    await p.send("RUN: echo seen > seen.txt");
    await p.request("seen.txt").waitFor();
    await p.prompt.focus();
    await p.chord("Control+a");
    await until("the command has run", () => p.read("seen.txt") === "seen\n");
    await p.idle();
  },

  async "the policy's decisions are browsed, and a command is tried"(p) {
    await p.openList("Decisions");
    await p.page.locator(".quick-input-widget input[placeholder^='Type to filter']").fill("pipeline");
    await p.list.filter({ hasText: "Refused: The pipeline pushes" }).first().waitFor();
    await p.shot("decisions");
    await p.page.keyboard.press("Escape");
    await p.openList("Try a Command");
    await p.page.locator(".quick-input-widget", { hasText: "Nothing runs" }).waitFor();
    await p.page.keyboard.type("cd x && git push");
    await p.page.keyboard.press("Enter");
    const toast = p.toasts.filter({ hasText: "Refused by the policy: cd x && git push." });
    await toast.waitFor();
    await toast.getByRole("button", { name: "Open policy" }).click();
    await p.page.locator(".tab.active", { hasText: "config.toml" }).waitFor();
    await p.closeEditors();
    await p.openList("Show Status");
    for (const text of ["Gate", "Policy file", "1 rule", "deny git push **", "tested with", "no, this window has its own"]) await p.list.filter({ hasText: text }).first().waitFor();
    await p.page.locator(".quick-input-widget input[placeholder^='Enter opens']").waitFor(); // doctor is done
    await p.shot("status");
    await p.page.keyboard.press("Escape");
  },

  async "an approval without an answer is visibly declined"(p) {
    const config = process.env["CODEX_BRIDGE_CONFIG"];
    const before = readFileSync(config, "utf8");
    await p.toChat();
    await p.send("RUN: echo late > late.txt");
    assert.match(await p.request("late.txt").locator(".countdown").innerText(), /^Declined in \d:\d\d$/);
    await p.request("late.txt").getByRole("button", { name: "Decline" }).click();
    await p.idle();
    writeFileSync(config, before.replace("[approvals]", '[approvals]\ntimeout = "1s"'));
    await p.command("Codex Bridge: Restart");
    await p.toChat();
    await p.send("while away");
    await p.sees(".assistant", "Working…");
    await p.hideChat();
    release("away");
    await p.toasts.filter({ hasText: "no answer in time: declined. echo away > away.txt" }).waitFor();
    await p.toChat();
    await p.chat.locator(".policy", { hasText: "away.txt" }).getByRole("heading", { name: "No answer in time: declined" }).waitFor();
    assert.equal(await p.request("away.txt").count(), 0);
    assert.equal(p.read("away.txt"), undefined);
    await p.idle();
    writeFileSync(config, before);
    await p.command("Codex Bridge: Restart");
    await p.command("Notifications: Clear All Notifications");
    await p.toChat();
  },

  async "a form checks its fields"(p) {
    await p.send("CALL: mcp__probe/ask {}");
    const form = p.request("How many?");
    const other = p.chat.locator(".request", { hasText: "Call probe?" }).locator('[data-choice="accept"]');
    await until("the form", async () => {
      if (await other.isVisible()) await other.click({ timeout: 5000 }).catch(() => undefined);
      return form.isVisible();
    });
    await form.getByText("(required)").waitFor();
    const accept = form.getByRole("button", { name: "Accept", exact: true });
    await accept.click();
    await form.getByText("This field is required.").waitFor();
    await form.locator("input").fill("2.5");
    await accept.click();
    await form.getByText("Enter a whole number.").waitFor();
    await p.shot("form");
    await form.locator("input").fill("7");
    await accept.click();
    await p.sees(".assistant", "7");
    await p.idle();
  },

  async "a selection arrives while the side bar is hidden"(p) {
    await p.open("greeting.txt");
    for (let i = 1; i <= 4; i++) {
      await p.hideChat();
      await p.page.locator(".monaco-editor .view-line").first().click();
      await p.page.keyboard.press("Control+A");
      await p.command("Codex Bridge: Send Selection");
      const chip = p.chat.locator("#chips .chip", { hasText: "greeting.txt:1" });
      await chip.waitFor();
      await p.hideChat(); // it stays, though the page is gone
      await p.toChat();
      await chip.getByRole("button", { name: /^Remove greeting\.txt/ }).press("Delete");
      await chip.waitFor({ state: "detached" });
      await p.chat.locator("#prompt:focus").waitFor();
    }
    await p.closeEditors();
    await p.toChat();
  },

  async "a selection is added to the message"(p) {
    await p.open("greeting.txt");
    await p.page.locator(".monaco-editor .view-line", { hasText: "Good morning" }).click();
    await p.page.keyboard.press("Control+A");
    await p.toChat("Send Selection to Chat");
    await p.chat.locator("#chips .chip", { hasText: "greeting.txt:1" }).waitFor();
    await p.shot("context");
    await p.send("what is this?");
    await p.sees(".assistant", "what is this?greeting.txt, lines 1 to"); // the model has both
    await p.sees(".assistant", "Good morning");
    const sent = p.chat.locator(".user", { hasText: "what is this?" }).last().locator(".sent");
    await sent.getByText("greeting.txt, lines 1 to").click();
    await sent.getByText("Good morning").waitFor();
    await p.idle();
    assert.equal(await p.chat.locator("#chips .chip").count(), 0);
    await p.closeEditors();
  },

  async "a thread is resumed from the tree"(p) {
    await p.toChat("New Thread");
    await p.sees(".welcome", "Ask Codex about this folder");
    await p.send("SAY: the second thread");
    await p.sees(".assistant", "the second thread");
    await p.idle();
    await p.showThreads(true);
    const row = (text) => p.page.locator(".pane .monaco-list-row", { hasText: text });
    await row("SAY: the second thread").waitFor();
    await p.shot("threads");
    await row("tell me slowly").click();
    await p.sees(".assistant", "steered it is");
    await p.sees('.call[data-state="done"]', "echo accepted");
    await p.showThreads(false);
  },

  async "a conversation continues after a reload"(p) {
    await p.page.reload();
    await p.waitForExtension();
    await p.toChat();
    await p.sees(".assistant", "steered it is");
    await p.send("SAY: after the reload");
    await p.sees(".assistant", "after the reload");
    await p.idle();
    assert.equal(running("codex-bridge").length, 1, "more than one bridge runs");
  },

  async "offline: after a crash the message stays, and a button or the next message continues"(p) {
    const crash = async () => {
      for (const pid of running("codex-bridge")) process.kill(Number(pid), "SIGKILL");
      await p.sees(".notice", "was stopped by SIGKILL");
      await p.status.filter({ hasText: "not running" }).waitFor();
    };
    await p.prompt.fill("SAY: alive again");
    await crash();
    await p.shot("offline");
    await p.chat.locator(".notice").last().getByRole("button", { name: "Restart" }).press("Enter");
    await p.status.filter({ hasText: "gate ready" }).waitFor(); // its hooks are verified with the next turn
    await p.chat.locator("#prompt:focus").waitFor();
    assert.equal(await p.prompt.inputValue(), "SAY: alive again");
    await crash();
    await p.prompt.press("Enter");
    await p.sees(".assistant", "alive again");
    await p.sees(".assistant", "after the reload");
    await p.idle();
    await p.status.filter({ hasText: "gate on" }).waitFor();
  },

  ...composing,

  ...changes,
  ...chats,
  ...states,

  async "the official extension uses the bridge, and its setting is restored"(p) {
    await p.command("Codex Bridge: Use the Bridge in the Official");
    await until("the setting is written", () => p.code.user()?.["chatgpt.cliExecutable"] === process.env["CODEX_BRIDGE_PROXY"]);
    await p.command("Codex Bridge: Remove the Bridge from the Official");
    await until("the setting is restored", () => p.code.user()?.["chatgpt.cliExecutable"] === "/opt/own/codex");
    await p.command("Notifications: Clear All Notifications");
  },

  async "narrow and wide, in three themes: the chat fits"(p) {
    await p.send("show me markdown again");
    await p.sees(".user:not(.pending)", "show me markdown again"); // the turn has started
    await p.idle();
    await p.send("RUN: find . -name '*.json' -newer greeting.txt -exec grep -l codex {} + | sort | head -n 20 > found.txt");
    await p.request("found.txt").waitFor();
    const themes = [["Light Modern", "vs"], ["Dark High Contrast", "hc-black"], ["Dark Modern", "vs-dark"]];
    for (const [theme, mark] of themes) {
      await p.theme(theme, mark);
      for (const width of [200, 640]) {
        await p.width(width);
        await p.fits();
        await p.shot(`${mark}-${width}`);
      }
    }
    await p.width(300);
    await p.request("found.txt").getByRole("button", { name: "Decline" }).click();
    await p.idle();
  },

  async "plain codex works, and the status bar shows no gate"(p) {
    p.code.machine({ "codexBridge.codexPath": process.env["CODEX_BRIDGE_CODEX"] });
    await p.toChat("New Thread");
    await p.command("Codex Bridge: Restart");
    await p.send("SAY: without a bridge");
    await p.sees(".assistant", "without a bridge");
    await p.idle();
    await p.status.filter({ hasText: "no gate" }).waitFor();
    assert.deepEqual(running("codex-bridge"), []);
    await p.openList("Show Status");
    await p.list.filter({ hasText: "codex runs without codex-bridge" }).waitFor();
    await p.page.keyboard.press("Escape");
  },

  async "a granular approval policy is chosen with its parts"(p) {
    await p.toChat();
    await p.send("/permissions");
    const picker = p.chat.locator("#picker");
    await picker.getByText("Codex asks about commands outside the sandbox, ").click();
    const kinds = picker.getByRole("listbox", { name: "Questions of the granular policy" });
    await kinds.getByText("scripts of skills").click();
    await kinds.locator('[data-value="skill_approval"][aria-selected="false"]').waitFor();
    await kinds.locator('[data-value="skill_approval"].active').waitFor(); // a new list with the same row
    await p.shot("granular");
    await p.page.keyboard.press("Escape");
    await p.send("SAY: granular it is");
    await p.sees(".assistant", "granular it is");
    await p.idle();
    await p.chat.locator("#pick-permissions:not(.chosen)", { hasText: "granular · " }).waitFor(); // as Codex reports it
    await p.send("/permissions");
    await picker.getByText("It refuses without a question: scripts of skills.").waitFor();
    assert.deepEqual(await kinds.getByRole("option").evaluateAll((rows) => rows.map((row) => row.ariaSelected)), ["true", "true", "false", "true", "true"]);
    await p.page.keyboard.press("Escape");
  },

  async "offline: without codex or with a broken policy, the chat says what to change, and continues when it is changed"(p) {
    const missing = "/nonexistent/codex";
    p.code.machine({ "codexBridge.path": process.env["CODEX_BRIDGE_PROXY"], "codexBridge.codexPath": missing });
    await p.toChat("New Thread");
    await p.command("Codex Bridge: Restart");
    await p.send("anybody there?");
    const notice = p.chat.locator(".notice", { hasText: `${missing} is not an executable program; fix the setting codexBridge.codexPath` }).last();
    await notice.waitFor();
    assert.doesNotMatch(await p.chat.locator("body").innerText(), /Pending response|CODEX_BRIDGE/);
    await p.showThreads(true);
    await p.page.locator(".pane .monaco-list-row", { hasText: "The threads can't be listed." }).waitFor();
    await p.showThreads(false);
    await p.shot("missing");
    await notice.getByRole("button", { name: "Open Settings" }).click();
    await p.page.locator(".settings-count-widget", { hasText: "10 Settings Found" }).waitFor(); // all, though this window is a remote one
    await until("the settings are closed", async () => {
      await p.page.keyboard.press("Escape");
      return !(await p.page.locator(".settings-editor").isVisible());
    });
    await p.toChat();
    assert.equal(await p.prompt.inputValue(), "anybody there?"); // the message stays
    p.code.machine({ "codexBridge.path": process.env["CODEX_BRIDGE_PROXY"] });
    const config = process.env["CODEX_BRIDGE_CONFIG"];
    const before = readFileSync(config, "utf8");
    writeFileSync(config, `${before}\n[nothing]\n`);
    const broken = p.chat.locator(".notice", { hasText: "The policy does not load: " }).last();
    await until("the policy is read", async () => { // the settings are read a moment after they are written
      await p.prompt.press("Enter");
      return broken.waitFor({ timeout: 2000 }).then(() => true, () => false);
    });
    assert.equal(await p.prompt.inputValue(), "anybody there?");
    await broken.getByRole("button", { name: "Open policy" }).waitFor();
    await p.shot("broken-policy");
    writeFileSync(config, before);
    await broken.getByRole("button", { name: "Restart" }).click();
    await p.status.filter({ hasText: "gate ready" }).waitFor();
    await p.prompt.press("Enter");
    await p.sees(".assistant", "You said: anybody there?");
    await p.idle();
  },

  // The Go test opens the thread in Neovim and in a terminal, and runs a turn in each.
  async "Neovim, the terminal and VS Code share a thread"(p) {
    const { CODEX_HOME, CODEX_BRIDGE_CONFIG, CODEX_BRIDGE_E2E_CODEX, CODEX_BRIDGE_PROXY } = process.env;
    const trust = `\n[projects."${p.code.workspace}"]\n`; // Codex alone has written it, if it was asked to
    const config = join(CODEX_HOME, "config.toml");
    if (!readFileSync(config, "utf8").includes(trust)) appendFileSync(config, `${trust}trust_level = "trusted"\n`);
    appendFileSync(CODEX_BRIDGE_CONFIG, '\n[serve]\nmode = "auto"\ncontrol_socket = true\n');
    p.code.machine({ "codexBridge.path": CODEX_BRIDGE_PROXY, "codexBridge.codexPath": CODEX_BRIDGE_E2E_CODEX });
    await p.toChat("New Thread");
    await p.command("Codex Bridge: Restart");
    await p.send("from VS Code");
    await p.sees(".assistant", "vscode-answered");
    await p.idle();
    console.log("@share");
    await p.sees(".assistant", "terminal-answered");
    await p.sees(".assistant", "neovim-answered");
    await p.idle();
    await p.shot("shared");
    await p.send("SAY: last-turn");
    await p.sees(".assistant", "last-turn");
    await p.idle();
  },

  ...hours,
};
