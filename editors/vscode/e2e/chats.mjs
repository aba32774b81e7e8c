// Scenes of threads and of several chats.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { release, running, until } from "./user.mjs";

export const chats = {
  async "a thread is renamed, searched, archived and forked"(p) {
    await p.toChat("New Thread");
    await p.send("SAY: the word is quokka");
    await p.sees(".assistant", "quokka");
    await p.idle();
    await p.openList("Rename Thread");
    const box = p.page.locator(".quick-input-widget input");
    await until("the name is in the box", async () => (await box.inputValue()) === "SAY: the word is quokka");
    await box.fill("Marsupials");
    await box.press("Enter");
    await p.chat.locator("#title", { hasText: "Marsupials" }).waitFor();
    await p.showThreads(true);
    const row = p.page.locator(".pane .monaco-list-row", { hasText: "Marsupials" });
    await row.waitFor();
    await p.shot("thread-list");

    await p.openList("Search Threads");
    await p.page.locator(".quick-input-widget input[placeholder^='Type words']").fill("quokka");
    await p.list.filter({ hasText: "Marsupials" }).waitFor();
    await p.page.keyboard.press("Escape");

    await p.openList("Fork Thread");
    const tabs = p.chat.getByRole("tab");
    await until("the fork has a chat", async () => (await tabs.count()) === 2);
    await p.sees(".assistant", "quokka");
    await p.send("SAY: only in the fork");
    await p.sees(".assistant", "only in the fork");
    await p.idle();
    await p.command("Codex Bridge: Close Chat");
    await until("the fork is closed", async () => (await p.chat.locator("#tabs").isHidden()) && running("codex-bridge").length === 1);
    await p.sees(".assistant", "quokka");
    assert.equal(await p.chat.locator(".assistant", { hasText: "only in the fork" }).count(), 0);

    const rows = await row.count();
    await p.command("Codex Bridge: Archive Thread");
    await p.sees(".welcome", "Ask Codex");
    await until("the thread is not in the list", async () => (await row.count()) === rows - 1);
    await p.command("Codex Bridge: Show Archived Threads");
    await row.waitFor();
    await row.click(); // unarchives it
    await row.waitFor({ state: "detached" });
    await p.command("Codex Bridge: Show Current Threads");
    await until("the thread is back", async () => (await row.count()) === rows);
    await p.showThreads(false);
    await p.command("Notifications: Clear All Notifications");
    await p.toChat();
  },

  async "two chats work at once, and a request of the hidden one is shown"(p) {
    await p.send("SAY: the first chat");
    await p.sees(".assistant", "the first chat");
    await p.idle();
    await p.prompt.fill("a draft of the first");
    await p.command("Codex Bridge: New Chat Beside");
    const tab = (name) => p.chat.getByRole("tab", { name });
    await tab(/^New chat/).waitFor();
    await until("the message is empty", async () => (await p.prompt.inputValue()) === "");
    await p.send("in the second chat");
    await p.sees(".assistant", "Working…");
    await tab(/in the second chat, working/).press("ArrowLeft");
    await p.chat.locator("[role=tab]:focus").press("Enter");
    await p.sees(".assistant", "the first chat");
    assert.equal(await p.prompt.inputValue(), "a draft of the first");
    assert.ok(!(await p.chat.locator("#stop").isVisible()), "the first chat is idle");
    release("second");
    const request = p.request("second-chat.txt");
    await request.getByText("In the chat “in the second chat”").waitFor();
    await tab(/in the second chat, waits for your answer/).waitFor();
    await p.shot("chats");
    await request.getByRole("button", { name: "Accept", exact: true }).click();
    await until("the command has run", () => p.read("second-chat.txt") === "second\n");
    await p.toasts.filter({ hasText: "Codex has finished: in the second chat" }).getByRole("button", { name: "Open Chat" }).click();
    await p.sees('.call[data-state="done"]', "echo second");
    await p.prompt.fill("typed before the reload");
    // VS Code saves the state of a page later, or never.
    await until("the draft is saved", () => readdirSync(p.code.data, { recursive: true }).some((file) => file.endsWith("conversation.json") && readFileSync(join(p.code.data, file), "utf8").includes("typed before")));
    await p.page.reload();
    await p.waitForExtension();
    await p.toChat();
    await p.sees('.call[data-state="done"]', "echo second");
    await until("the draft of the second is back", async () => (await p.prompt.inputValue()) === "typed before the reload");
    await tab(/SAY: the first chat/).click();
    await p.sees(".assistant", "the first chat");
    await until("the draft is back", async () => (await p.prompt.inputValue()) === "a draft of the first");
    const menu = p.chat.getByRole("combobox", { name: "Chats" });
    await p.widths("tabs", [280, 400, 200]);
    assert.ok(await menu.isHidden(), "there is room for tabs");
    await p.theme("Dark High Contrast", "hc-black");
    await p.width(200);
    await menu.waitFor(); // tabs would have no readable title
    assert.equal(await p.chat.getByRole("tab").count(), 0);
    await menu.selectOption({ label: "in the second chat" });
    await p.sees('.call[data-state="done"]', "echo second");
    await menu.selectOption({ label: "SAY: the first chat" });
    await p.sees(".assistant", "the first chat");
    await p.open("greeting.txt");
    await p.command("Codex Bridge: Add File to Chat");
    await p.chat.locator("#pick-model").click();
    await p.chat.locator("#picker [role=option]").first().waitFor();
    await p.fits();
    await p.shot("hc-chats");
    await p.chat.locator("#picker [role=listbox]").first().press("Escape");
    await p.width(300);
    await p.theme("Light Modern", "vs");
    await p.closeEditors();
    await p.toChat();
    await p.chat.locator("#chips button").press("Delete");
    await tab(/in the second chat/).press("Delete");
    await until("one chat is left", async () => (await p.chat.locator("#tabs").isHidden()) && running("codex-bridge").length === 1);
    await p.prompt.fill("");
    await p.command("Notifications: Clear All Notifications");
    await p.toChat();
  },
};
