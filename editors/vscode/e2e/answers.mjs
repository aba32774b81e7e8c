// Scenes in which the person answers: commands, patches in their diff, and questions of the model.
import assert from "node:assert/strict";
import { release, until } from "./user.mjs";

export const answers = {
  async "a command is accepted"(p) {
    await p.send("RUN: echo accepted > accepted.txt");
    const request = p.request("echo accepted > accepted.txt");
    await request.waitFor();
    await p.status.filter({ hasText: "answer needed" }).waitFor();
    assert.ok((await request.innerText()).includes(p.code.workspace), "the folder is missing");
    assert.equal(p.read("accepted.txt"), undefined);
    await p.shot("approval");
    await request.getByRole("button", { name: "Accept", exact: true }).click();
    await p.idle();
    assert.equal(p.read("accepted.txt"), "accepted\n");
    await p.sees('.call[data-state="done"]', "echo accepted");
  },

  async "a command is declined"(p) {
    await p.send("RUN: echo declined > declined.txt");
    await p.request("declined.txt").getByRole("button", { name: "Decline" }).click();
    await p.idle();
    assert.equal(p.read("declined.txt"), undefined);
    await p.request("declined.txt").waitFor({ state: "detached" });
  },

  async "a key declines a command"(p) {
    await p.send("RUN: echo keyboard > keyboard.txt");
    await p.request("keyboard.txt").waitFor();
    await p.chord("Control+d");
    await p.request("keyboard.txt").waitFor({ state: "detached" });
    await p.idle();
    assert.equal(p.read("keyboard.txt"), undefined);
    assert.equal(await p.prompt.inputValue(), "");
  },

  async "an approval is a notification while the chat is hidden"(p) {
    await p.send("quietly");
    await p.sees(".assistant", "Working…");
    await p.hideChat();
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

  async "a patch is accepted in its diff"(p) {
    const before = p.read("greeting.txt");
    await p.send("improve the greeting");
    await p.page.locator(".tab.active", { hasText: "greeting.txt (Codex proposes)" }).waitFor();
    await p.page.locator(".monaco-diff-editor .modified .view-line", { hasText: "Good morning" }).waitFor();
    await p.page.locator(".monaco-diff-editor .original .view-line", { hasText: "Hello" }).waitFor();
    await p.sees(".request .file", "greeting.txt");
    assert.equal(p.read("greeting.txt"), before);
    await p.shot("diff");
    await p.page.locator(".editor-actions").getByRole("button", { name: /^Accept/ }).click();
    await p.idle();
    assert.equal(p.read("greeting.txt"), before.replace("Hello", "Good morning"));
    await p.page.locator(".tab", { hasText: "Codex proposes" }).waitFor({ state: "detached" });
    await p.sees('.patch[data-state="done"]', "greeting.txt");
  },

  async "a patch of several files is one multi-file diff"(p) {
    await p.send("change two files");
    await p.page.locator(".tab.active", { hasText: "Codex: 2 files" }).waitFor();
    await p.page.locator(".multiDiffEntry", { hasText: "second.txt" }).waitFor();
    await p.sees(".request .file", "greeting.txt");
    await p.sees(".request .file", "deep/second.txt");
    await p.shot("diffs");
    await p.request("second.txt").getByRole("button", { name: "Accept", exact: true }).click();
    await p.idle();
    assert.equal(p.read("deep/second.txt"), "one\n");
    await p.page.locator(".tab", { hasText: "Codex: 2 files" }).waitFor({ state: "detached" });
  },

  async "a patch is declined in the chat"(p) {
    await p.send("PATCH: unwanted.txt\nthis is unwanted");
    await p.page.locator(".tab.active", { hasText: "unwanted.txt (Codex proposes)" }).waitFor();
    await p.request("unwanted.txt").getByRole("button", { name: "Decline" }).click();
    await p.idle();
    assert.equal(p.read("unwanted.txt"), undefined);
    await p.page.locator(".tab", { hasText: "Codex proposes" }).waitFor({ state: "detached" });
  },

  async "a question is answered"(p) {
    await p.send("ASK: Shall we?");
    const request = p.request("Shall we?");
    await request.getByText("No", { exact: false }).first().click();
    await p.shot("question");
    await request.getByRole("button", { name: "Answer" }).click();
    await p.idle();
    await p.sees(".assistant", '"answers":["No"]');
  },
};
