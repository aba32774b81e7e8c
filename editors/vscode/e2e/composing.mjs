// Scenes of the composer: mentions, context, slash commands, pickers, images and links.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { release, until } from "./user.mjs";

/** The stored images of the window. */
const images = (p) => readdirSync(p.code.data, { recursive: true, withFileTypes: true }).filter((one) => one.isFile() && one.parentPath.endsWith("/images"));

/** Pastes or drops a file into the message. */
const give = (p, how, name, bytes) =>
  p.prompt.evaluate((node, { how, name, bytes }) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(bytes)], name, { type: "image/png" }));
    const common = { bubbles: true, cancelable: true };
    node.dispatchEvent(how === "paste" ? new ClipboardEvent(how, { clipboardData: data, ...common }) : new DragEvent(how, { dataTransfer: data, ...common }));
  }, { how, name, bytes: [...bytes] });

// A PNG of one pixel.
const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

export const composing = {
  async "a file is mentioned with completion"(p) {
    await p.toChat("New Thread");
    await p.prompt.fill("");
    await p.prompt.pressSequentially("look at @greet");
    const option = p.chat.locator("#suggestions [role=option]", { hasText: "greeting.txt" });
    await option.waitFor();
    assert.equal(await p.prompt.getAttribute("aria-activedescendant"), "suggestion-0");
    await p.shot("mention");
    await p.prompt.press("Escape");
    await option.waitFor({ state: "detached" });
    assert.equal(await p.prompt.inputValue(), "look at @greet");
    await p.prompt.pressSequentially("i");
    await option.waitFor();
    await p.prompt.press("Enter");
    assert.equal(await p.prompt.inputValue(), "look at @greeting.txt ");
    await p.prompt.press("Enter");
    await p.sees(".assistant", "look at @greeting.txt");
    await p.idle();
    mkdirSync(join(p.code.workspace, "corner"));
    writeFileSync(join(p.code.workspace, "corner", "a b.txt"), "");
    await p.prompt.pressSequentially("and @corn");
    await p.chat.locator("#suggestions [role=option]", { hasText: "corner/ folder" }).first().waitFor();
    await p.prompt.press("Escape");
    await p.prompt.fill("");
  },

  async "problems are context, which the keyboard removes"(p) {
    await p.open("broken.json");
    await p.page.locator(".squiggly-error").first().waitFor();
    await p.command("Codex Bridge: Add Problems to Chat");
    const chip = p.chat.locator("#chips .chip", { hasText: /^broken\.json: \d+ problem/ });
    await chip.waitFor();
    await p.command("Codex Bridge: Add File to Chat");
    await p.chat.locator("#chips .chip", { hasText: /^broken\.json×$/ }).waitFor();
    await chip.getByRole("button").press("Delete");
    await chip.waitFor({ state: "detached" });
    await p.chat.locator("#chips button:focus").press("Delete");
    await p.chat.locator("#prompt:focus").waitFor();
    await p.closeEditors();
    await p.toChat();
  },

  async "a pasted image reaches the model, and its private file is removed"(p) {
    await give(p, "paste", "dot.png", png);
    await p.chat.locator("#chips .chip", { hasText: "dot.png, 1 kB" }).waitFor();
    const [file] = images(p);
    assert.equal(statSync(join(file.parentPath, file.name)).mode & 0o077, 0);
    await give(p, "drop", "dropped.png", png);
    const dropped = p.chat.locator("#chips .chip", { hasText: "dropped.png" });
    await dropped.getByRole("button").click();
    await dropped.waitFor({ state: "detached" });
    await until("the file of the removed image is gone", () => images(p).length === 1);
    await p.prompt.evaluate((node, uri) => {
      const data = new DataTransfer();
      data.setData("text/uri-list", uri);
      node.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }, `file://${p.code.workspace}/greeting.txt`); // as the explorer of VS Code does
    const explored = p.chat.locator("#chips .chip", { hasText: "greeting.txt" });
    await explored.getByRole("button").click();
    await explored.waitFor({ state: "detached" });
    await give(p, "paste", "page.html", Buffer.from("<script>"));
    await p.sees("#problem", "page.html is not a PNG, JPEG, GIF or WebP image.");
    await p.shot("image");
    await p.send("SAY: what a dot");
    await p.sees(".assistant", "what a dot<image name=[Image #1]");
    await p.sees(".user .sent", "Image");
    await p.idle();
    await until("the file is removed", () => images(p).length === 0);
  },

  async "a slash command is completed, and an unknown one is said"(p) {
    await p.prompt.pressSequentially("/");
    const options = p.chat.locator("#suggestions [role=option]");
    await until("all commands", async () => (await options.count()) === 7);
    await p.shot("commands");
    await p.prompt.pressSequentially("foo");
    await options.first().waitFor({ state: "detached" });
    await p.prompt.press("Enter");
    await p.sees("#problem", "There is no command /foo.");
    await p.chat.locator("#problem").getByRole("button", { name: "Send as Text" }).click();
    await p.sees(".user", "/foo");
    await p.sees(".assistant", "You said: /foo");
    await p.idle();
    await p.prompt.pressSequentially("/sta");
    await options.first().waitFor();
    await p.prompt.press("Enter");
    await p.page.locator(".quick-input-widget", { hasText: "Codex Bridge: status" }).waitFor();
    await p.page.keyboard.press("Escape");
    await p.toChat();
    await p.send("/compact");
    await p.sees(".notice", "Codex compacted the conversation.");
    await p.idle();
    await p.send("/diff");
    await p.page.locator(".tab.active", { hasText: "Changes of the working tree" }).waitFor();
    await p.closeEditors();
    await p.toChat();
  },

  async "a review ends, and can be stopped"(p) {
    await p.send("/review");
    await p.sees(".notice", "A review started.");
    await p.sees(".notice", "The review is complete.");
    await p.idle();
    await p.send("/review look at the parser");
    await p.sees(".user", "look at the parser");
    await p.chat.locator("#stop").click();
    await p.idle();
    release("review");
    await p.send("SAY: after the review");
    await p.sees(".assistant", "after the review");
    await p.idle();
  },

  async "approvals and sandbox are chosen within the policy"(p) {
    const choices = p.chat.locator("#picker");
    const button = p.chat.locator("#pick-permissions");
    await button.focus();
    await button.press("Enter");
    await choices.getByRole("listbox", { name: "Approval policy" }).waitFor();
    const never = choices.locator('[data-value="never"]');
    assert.equal(await never.getAttribute("aria-disabled"), "true");
    assert.equal(await choices.locator('[data-value^="granular:"]').getAttribute("aria-disabled"), "true");
    const reason = await never.innerText();
    for (const part of ["never", "policy.approval", "config.toml:3"]) assert.ok(reason.includes(part), reason);
    await p.shot("permissions");
    await choices.locator("[role=listbox]:focus").press("End");
    await choices.locator("[role=listbox]:focus").press("Enter"); // it can't be chosen
    await p.chat.locator("#announce", { hasText: "Not allowed" }).waitFor({ state: "attached" });
    assert.equal(await button.innerText(), "untrusted · workspace-write");
    await choices.locator("[role=listbox]:focus").press("Tab");
    await choices.locator('[data-setting="sandbox"]:focus').press("Home");
    await choices.locator('[data-setting="sandbox"]:focus').press("Enter");
    await p.chat.locator("#pick-permissions.chosen", { hasText: "read-only" }).waitFor();
    await choices.locator('[data-setting="sandbox"]:focus').press("Escape");
    await choices.waitFor({ state: "hidden" });
    await p.chat.locator("#prompt:focus").waitFor();
    await p.send("SAY: it is read-only now");
    await p.sees(".assistant", "it is read-only now");
    await p.idle();
    await p.chat.locator("#pick-permissions:not(.chosen)", { hasText: "untrusted · read-only" }).waitFor(); // as Codex reports it
    await p.send("/permissions");
    await choices.locator('[data-value="workspace-write"]').click();
    await p.chat.locator("#pick-permissions.chosen", { hasText: "workspace-write" }).waitFor();
    await choices.getByRole("button", { name: "Done" }).click();
  },

  async "model and effort are chosen, and apply with the next message"(p) {
    await p.send("/model");
    const choices = p.chat.locator("#picker");
    await choices.locator('[data-value="gpt-5.6-sol"]').click();
    await choices.locator('[data-value="gpt-5.6-sol"][aria-selected="true"]').waitFor();
    await choices.locator('[data-setting="effort"] [data-value="high"]').click();
    await p.chat.locator("#pick-model.chosen", { hasText: "gpt-5.6-sol · high" }).waitFor();
    await p.shot("model");
    await choices.getByRole("button", { name: "Done" }).press("Escape");
    await p.send("SAY: another model");
    await p.sees(".assistant", "another model");
    await p.idle();
    await p.chat.locator("#pick-model:not(.chosen)", { hasText: "gpt-5.6-sol · high" }).waitFor();
    assert.equal(await p.chat.locator("#pick-permissions").innerText(), "untrusted · workspace-write");
  },

  async "names of existing files are links, others are not"(p) {
    await p.send("SAY: see greeting.txt:2 and gone.txt:3");
    const answer = p.chat.locator(".assistant", { hasText: "gone.txt:3" }).last();
    const link = answer.getByRole("link", { name: "greeting.txt:2" });
    await link.waitFor();
    await p.idle();
    assert.equal(await answer.getByRole("link").count(), 1);
    writeFileSync(join(p.code.workspace, "gone.txt"), "here\n");
    await p.send("SAY: now it is there");
    await answer.getByRole("link", { name: "gone.txt:3" }).waitFor();
    await p.idle();
    await link.press("Enter");
    await p.page.locator(".tab.active", { hasText: "greeting.txt" }).waitFor();
    await p.page.locator(".statusbar-item", { hasText: "Ln 2, Col 1" }).waitFor();
    await p.closeEditors();
    await p.toChat();
    await p.send("RUN: grep -Hn again greeting.txt");
    await p.request("grep -Hn").getByRole("button", { name: "Accept", exact: true }).click();
    await p.idle();
    const call = p.chat.locator('.call[data-state="done"]', { hasText: "grep -Hn" }).last();
    await call.locator("summary").click();
    await call.locator(".output a", { hasText: "greeting.txt:" }).click();
    await p.page.locator(".tab.active", { hasText: "greeting.txt" }).waitFor();
    await p.closeEditors();
    await p.toChat();
  },

  async "the plan, the tokens and the time are shown"(p) {
    const steps = [["one", "completed"], ["two", "in_progress"], ["three", "pending"]].map(([step, status]) => ({ step, status }));
    await p.send(`CALL: update_plan ${JSON.stringify({ explanation: "why", plan: steps })}`);
    await p.sees("#plan summary", "Plan: 1 of 3 done");
    await p.idle();
    assert.deepEqual(await p.chat.locator("#plan li").evaluateAll((rows) => rows.map((row) => row.dataset["status"])), ["completed", "inProgress", "pending"]);
    const meter = p.chat.getByRole("meter");
    await meter.filter({ hasText: "% of context" }).waitFor();
    assert.match(await meter.getAttribute("aria-label"), /^Context: .* of .* tokens\. The thread has used .* tokens\.$/);
    await p.shot("plan");
    await p.send("end unseen");
    await p.chat.getByRole("timer").filter({ hasText: /^Working 0:0[1-9]/ }).waitFor();
    await p.hideChat();
    release("unseen");
    const toast = p.toasts.filter({ hasText: "Codex has finished" });
    await toast.first().waitFor();
    await toast.first().getByRole("button", { name: "Open Chat" }).click();
    await p.chat.locator("#prompt:focus").waitFor();
    await p.idle();
    await p.command("Notifications: Clear All Notifications");
    await p.toChat();
  },
};
