// What the extension promises, tried in order in one VS Code. The model's words are in the Go test that starts this.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { until } from "./person.mjs";

/** Tells the scripted model that it may go on. */
const release = (name) => console.log(`@release ${name}`);

/** The processes of the world that run a program of this name. */
function running(program) {
  return readdirSync("/proc").filter((pid) => {
    try {
      if (!/^\d+$/.test(pid) || !readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[0].endsWith(program)) return false;
      return readFileSync(`/proc/${pid}/environ`, "utf8").includes(process.env["CODEX_BRIDGE_STATE"]);
    } catch {
      return false;
    }
  });
}

export const scenes = {
  async "nothing is started in a folder that is not trusted"(p) {
    await p.arrives();
    await p.command("Codex Bridge: Go to Chat");
    await p.sees("#blocked", "This folder is not trusted");
    assert.ok(!(await p.prompt.isVisible()), "there is something to type into");
    await p.shot("restricted");
    assert.deepEqual(running("codex-bridge"), []);
  },

  async "trust lets it begin"(p) {
    await p.chat.locator("#blocked button").click();
    await p.page.locator(".workspace-trust-editor .monaco-button", { hasText: "Trust" }).first().click();
    await p.prompt.waitFor();
    await p.status.filter({ hasText: "not started" }).waitFor();
    await p.closesEditors();
  },

  async "an answer streams"(p) {
    await p.send("tell me slowly");
    await p.sees(".assistant", "Working…");
    await p.chat.locator("#stop").waitFor();
    assert.ok(!(await p.chat.locator(".assistant").last().innerText()).includes("done."));
    release("stream");
    await p.sees(".assistant", "Working… done.");
    await p.idle();
  },

  async "the status bar tells that the gate is on"(p) {
    await p.status.filter({ hasText: "gate on" }).waitFor();
  },

  async "markdown is drawn, and nothing of it is HTML"(p) {
    await p.send("show me markdown");
    await p.sees(".assistant h3", "A heading");
    await p.sees(".assistant pre", "const answer = 42;");
    await p.sees(".assistant li", "second");
    await p.sees(".assistant td", "three");
    await p.sees(".assistant", '<img src=x onerror="document.body.remove()">');
    assert.equal(await p.chat.locator(".assistant img").count(), 0);
    await p.idle();
  },

  async "a command is accepted"(p) {
    await p.send("RUN: echo accepted > accepted.txt");
    const ask = p.ask("echo accepted > accepted.txt");
    await ask.waitFor();
    await p.status.filter({ hasText: "asks" }).waitFor();
    assert.ok((await ask.innerText()).includes(p.code.workspace), "the folder is not told");
    assert.equal(p.read("accepted.txt"), undefined);
    await p.shot("approval");
    await ask.getByRole("button", { name: "Accept", exact: true }).click();
    await p.idle();
    assert.equal(p.read("accepted.txt"), "accepted\n");
    await p.sees('.call[data-state="done"]', "echo accepted");
  },

  async "a command is declined"(p) {
    await p.send("RUN: echo declined > declined.txt");
    await p.ask("declined.txt").getByRole("button", { name: "Decline" }).click();
    await p.idle();
    assert.equal(p.read("declined.txt"), undefined);
    await p.ask("declined.txt").waitFor({ state: "detached" });
  },

  async "a command is declined by the keyboard"(p) {
    await p.send("RUN: echo keyboard > keyboard.txt");
    await p.ask("keyboard.txt").waitFor();
    await p.prompt.press("Control+Alt+j");
    await p.page.locator(".part.statusbar", { hasText: "Waiting for second key" }).waitFor();
    await p.prompt.press("Control+d");
    await p.ask("keyboard.txt").waitFor({ state: "detached" });
    await p.idle();
    assert.equal(p.read("keyboard.txt"), undefined);
    assert.equal(await p.prompt.inputValue(), "");
  },

  async "while the chat is hidden an approval is a notification"(p) {
    await p.send("quietly");
    await p.sees(".assistant", "Working…");
    await p.command("View: Toggle Primary Side Bar Visibility");
    await p.page.locator("iframe.webview.ready").waitFor({ state: "hidden" });
    release("hidden");
    const toast = p.toasts.filter({ hasText: "echo hidden > hidden.txt" });
    await toast.waitFor();
    assert.equal(await p.page.locator(".monaco-dialog-box").count(), 0);
    await p.shot("notification");
    await toast.getByRole("button", { name: "Accept", exact: true }).click();
    await until("the command has run", () => p.read("hidden.txt") === "hidden\n");
    await p.toChat();
    await p.sees('.call[data-state="done"]', "echo hidden");
    await p.idle();
  },

  async "a patch is a diff, and accepted there"(p) {
    const before = p.read("greeting.txt");
    await p.send("improve the greeting");
    await p.page.locator(".tab.active", { hasText: "greeting.txt (Codex proposes)" }).waitFor();
    await p.page.locator(".monaco-diff-editor .modified .view-line", { hasText: "Good morning" }).waitFor();
    await p.page.locator(".monaco-diff-editor .original .view-line", { hasText: "Hello" }).waitFor();
    await p.sees(".ask .file", "greeting.txt");
    assert.equal(p.read("greeting.txt"), before);
    await p.shot("diff");
    await p.page.locator(".editor-actions").getByRole("button", { name: /^Accept/ }).click();
    await p.idle();
    assert.equal(p.read("greeting.txt"), before.replace("Hello", "Good morning"));
    await p.page.locator(".tab", { hasText: "Codex proposes" }).waitFor({ state: "detached" });
    await p.sees('.patch[data-state="done"]', "greeting.txt");
  },

  async "a patch of several files is one page of diffs"(p) {
    await p.send("change two files");
    await p.page.locator(".tab.active", { hasText: "Codex: 2 files" }).waitFor();
    await p.page.locator(".multiDiffEntry", { hasText: "second.txt" }).waitFor();
    await p.sees(".ask .file", "greeting.txt");
    await p.sees(".ask .file", "deep/second.txt");
    await p.shot("diffs");
    await p.ask("second.txt").getByRole("button", { name: "Accept", exact: true }).click();
    await p.idle();
    assert.equal(p.read("deep/second.txt"), "one\n");
    await p.page.locator(".tab", { hasText: "Codex: 2 files" }).waitFor({ state: "detached" });
  },

  async "a patch is declined in the chat"(p) {
    await p.send("PATCH: unwanted.txt\nnobody wants this");
    await p.page.locator(".tab.active", { hasText: "unwanted.txt (Codex proposes)" }).waitFor();
    await p.ask("unwanted.txt").getByRole("button", { name: "Decline" }).click();
    await p.idle();
    assert.equal(p.read("unwanted.txt"), undefined);
    await p.page.locator(".tab", { hasText: "Codex proposes" }).waitFor({ state: "detached" });
  },

  async "a question is answered"(p) {
    await p.send("ASK: Shall we?");
    const ask = p.ask("Shall we?");
    await ask.getByText("No", { exact: false }).first().click();
    await p.shot("question");
    await ask.getByRole("button", { name: "Answer" }).click();
    await p.idle();
    await p.sees(".assistant", '"answers":["No"]');
  },

  async "what is sent while a turn runs steers it"(p) {
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

  async "the model asks the editor"(p) {
    await p.open("broken.json");
    await p.page.locator(".squiggly-error").first().waitFor();
    await p.toChat();
    await p.send('CALL: editor_problems {"path": "broken.json"}');
    await p.answersQuestions();
    await p.sees(".assistant", "broken.json:1:");
    await p.idle();
    await p.send("CALL: editor_open_files {}");
    await p.answersQuestions();
    await p.sees(".assistant", "broken.json (active");
    await p.idle();
  },

  async "a selection is put into the message"(p) {
    await p.open("greeting.txt");
    await p.page.locator(".monaco-editor .view-line", { hasText: "Good morning" }).click();
    await p.page.keyboard.press("Control+A");
    await p.toChat("Send Selection to Chat");
    await until("the selection is in the message", async () => (await p.prompt.inputValue()).includes("```"));
    assert.match(await p.prompt.inputValue(), /^greeting\.txt, lines 1 to \d:\n```plaintext\nGood morning/);
    await p.prompt.fill("");
    await p.closesEditors();
  },

  async "a thread is taken up again from the tree"(p) {
    await p.toChat("New Thread");
    await p.sees(".welcome", "Ask Codex about this folder");
    await p.send("SAY: the second thread");
    await p.sees(".assistant", "the second thread");
    await p.idle();
    await p.page.locator(".pane-header", { hasText: "Threads" }).click();
    const row = (text) => p.page.locator(".pane .monaco-list-row", { hasText: text });
    await row("SAY: the second thread").waitFor();
    await p.shot("threads");
    await row("tell me slowly").click();
    await p.sees(".assistant", "steered it is");
    await p.sees('.call[data-state="done"]', "echo accepted");
    await p.page.locator(".pane-header", { hasText: "Threads" }).click();
  },

  async "after a reload the conversation is there, and goes on"(p) {
    await p.page.reload();
    await p.arrives();
    await p.toChat();
    await p.sees(".assistant", "steered it is");
    await p.send("SAY: after the reload");
    await p.sees(".assistant", "after the reload");
    await p.idle();
    assert.equal(running("codex-bridge").length, 1, "more than one bridge runs");
  },

  async "after a crash of the bridge the next message goes on"(p) {
    for (const pid of running("codex-bridge")) process.kill(Number(pid), "SIGKILL");
    await p.sees(".notice", "was ended by SIGKILL");
    await p.status.filter({ hasText: "not running" }).waitFor();
    await p.send("SAY: alive again");
    await p.sees(".assistant", "alive again");
    await p.sees(".assistant", "after the reload");
    await p.idle();
    await p.status.filter({ hasText: "gate on" }).waitFor();
  },

  async "the bridge is put under the official extension, and taken away"(p) {
    await p.command("Codex Bridge: Put the Bridge under the Official");
    await until("the setting is written", () => p.code.user()?.["chatgpt.cliExecutable"] === process.env["CODEX_BRIDGE_PROXY"]);
    await p.command("Codex Bridge: Take the Bridge from under the Official");
    await until("the setting is what it was", () => p.code.user()?.["chatgpt.cliExecutable"] === "/opt/own/codex");
    await p.command("Notifications: Clear All Notifications");
  },

  async "it fits a narrow and a wide panel, in light, dark and high contrast"(p) {
    await p.send("show me markdown again");
    await p.idle();
    await p.send("RUN: find . -name '*.json' -newer greeting.txt -exec grep -l codex {} + | sort | head -n 20 > found.txt");
    await p.ask("found.txt").waitFor();
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
    await p.ask("found.txt").getByRole("button", { name: "Decline" }).click();
    await p.idle();
  },

  async "plain codex does as well, and the status bar tells"(p) {
    p.code.machine({ "codexBridge.codexPath": process.env["CODEX_BRIDGE_CODEX"] });
    await p.toChat("New Thread");
    await p.command("Codex Bridge: Restart");
    await p.send("SAY: without a bridge");
    await p.sees(".assistant", "without a bridge");
    await p.idle();
    await p.status.filter({ hasText: "no gate" }).waitFor();
    assert.deepEqual(running("codex-bridge"), []);
    await p.command("Codex Bridge: Show Status");
    await p.toasts.filter({ hasText: "codex runs without codex-bridge" }).waitFor();
  },
};
