// Scenes of the states of the page: empty, error, keyboard only, high contrast, narrow and long. The scenes of a program
// that does not run ("offline") are in scenes.mjs.
import assert from "node:assert/strict";
import { until } from "./user.mjs";

/** Presses a key until the focus is on an element of the page. Each stop on the way has a visible focus. */
async function pressUntil(p, key, selector) {
  const at = p.chat.locator(selector).last();
  for (let i = 0; ; i++) {
    assert.ok(i < 40, `${key} does not reach ${selector}`);
    await p.page.keyboard.press(key);
    await p.seesFocus();
    if (await at.evaluate((node) => node === document.activeElement)) return;
  }
}

/** Returns the number of elements of the conversation. */
const drawn = (p) => p.chat.locator("#log").evaluate((log) => ({ entries: log.querySelectorAll(":scope > article").length, elements: log.querySelectorAll("*").length }));

export const beginning = {
  async "empty: the chat, the threads and the grants say so"(p) {
    await p.sees(".welcome", "Ask Codex about this folder");
    assert.ok(await p.chat.locator("#send").isDisabled());
    await p.send("  ");
    assert.equal(await p.chat.locator(".user").count(), 0);
    await p.prompt.fill("");
    await p.showThreads(true);
    await p.page.locator(".pane .welcome-view", { hasText: "No threads in this folder yet." }).waitFor();
    await p.shot("empty");
    await p.showThreads(false);
    await p.command("Codex Bridge: Grants");
    await p.toasts.filter({ hasText: "No approvals are remembered." }).waitFor();
    await p.command("Notifications: Clear All Notifications");
    await p.toChat();
  },
};

export const states = {
  async "the walkthrough has pictures"(p) {
    await p.command("Codex Bridge: Get Started");
    for (const [title, picture] of [["Codex and the bridge", "status"], ["Keep or undo the changes", "changes"]]) {
      const step = p.page.locator(".getting-started-step", { hasText: title });
      if ((await step.getAttribute("aria-expanded")) !== "true") await step.click();
      await until(`the picture ${picture}`, async () => {
        const shown = p.page.frames().map((frame) => frame.locator(`img[src*="${picture}.png"][alt]`).evaluateAll((all) => all.some((one) => one.naturalWidth > 0)).catch(() => false));
        return (await Promise.all(shown)).includes(true);
      });
    }
    await p.shot("walkthrough");
    await p.closeEditors();
    await p.toChat();
  },

  async "error: a turn that fails says why, and the next one works"(p) {
    await p.toChat("New Thread");
    await p.send("FAIL");
    await p.sees('.notice[data-level="error"]', "The scripted model was told to fail.");
    await p.idle();
    assert.equal(await p.chat.locator('.notice[data-level="error"]').count(), 1);
    await p.shot("error");
    await p.send("SAY: after the failure");
    await p.sees(".assistant", "after the failure");
    await p.idle();
  },

  async "keyboard only: a conversation in high contrast, 200 pixels wide"(p) {
    await p.theme("Dark High Contrast", "hc-black");
    await p.width(200);
    await p.toChat("New Thread");
    await p.sees(".welcome", "Ask Codex");
    await p.fits();
    const { keyboard } = p.page;
    await p.hideChat();
    await keyboard.press("Control+Alt+j");
    await p.page.locator(".part.statusbar", { hasText: "Waiting for second key" }).waitFor();
    await keyboard.press("Control+i");
    await p.chat.locator("#prompt:focus").waitFor();

    await keyboard.type("RUN: echo keys > keys.txt");
    await keyboard.press("Enter");
    await p.request("keys.txt").waitFor();
    await p.fits();
    await pressUntil(p, "Shift+Tab", '.request [data-choice="accept"]');
    await keyboard.press("Enter");
    await p.chat.locator("#prompt:focus").waitFor();
    await p.idle();
    assert.equal(p.read("keys.txt"), "keys\n");

    await p.chat.locator("article.changes").waitFor();
    await p.fits();
    await pressUntil(p, "Shift+Tab", "article.changes [data-change='0-keep']");
    await p.shot("keyboard");
    await keyboard.press("Enter");
    await p.sees("article.changes .note", "kept");
    await p.seesFocus();
    await pressUntil(p, "Tab", "#prompt");

    await keyboard.type("RUN: echo no > no.txt");
    await keyboard.press("Enter");
    await p.request("no.txt").waitFor();
    await pressUntil(p, "Shift+Tab", '.request [data-choice="decline"]');
    await keyboard.press("Space");
    await p.chat.locator("#prompt:focus").waitFor();
    await p.idle();
    assert.equal(p.read("no.txt"), undefined);

    for (const kind of ["permissions", "model"]) {
      await pressUntil(p, "Tab", `#pick-${kind}`);
      await keyboard.press("Enter");
      await p.chat.locator("#picker [role=listbox]:focus").waitFor();
      await p.fits();
      await keyboard.press("ArrowDown");
      await p.seesFocus();
      await pressUntil(p, "Tab", "#picker button");
      await keyboard.press("Enter");
      await p.chat.locator("#prompt:focus").waitFor();
    }
    await keyboard.type("/");
    await p.chat.locator("#suggestions [role=option]").first().waitFor();
    await p.fits();
    await keyboard.press("Escape");
    await keyboard.press("Backspace");
    await keyboard.type("SLOW: 60000");
    await keyboard.press("Enter");
    await p.chat.locator("#stop").waitFor();
    await keyboard.press("Escape");
    await p.sees(".notice", "Stopped.");
    await p.idle();
    await p.seesFocus();
    await p.width(300);
    await p.theme("Light Modern", "vs");
    await p.toChat();
  },

  async "long: hundreds of entries and very long messages are drawn in parts"(p) {
    await p.toChat("New Thread");
    await p.send("fill the thread");
    await p.sees(".assistant", "entry 300.");
    await p.idle();
    const earlier = p.chat.locator("#log .earlier button");
    assert.ok((await drawn(p)).entries < 200);
    assert.match(await earlier.innerText(), /^Show 100 of \d+ earlier$/);
    await p.shot("long");

    await p.hideChat();
    await p.toChat(); // the page is a new one
    await p.sees(".assistant", "entry 300.");
    assert.equal((await drawn(p)).entries, 100);
    const top = p.chat.locator("#log > article").first();
    const before = await top.innerText();
    await earlier.press("Enter");
    await until("the button shows more", async () => (await drawn(p)).entries === 200);
    await p.seesFocus();
    const moved = await p.chat.locator("#log > article", { hasText: before }).first().evaluate((node) => Math.abs(node.getBoundingClientRect().top - node.parentElement.getBoundingClientRect().top));
    assert.ok(moved < 100, `what the user reads has moved by ${moved} pixels`);
    while ((await earlier.count()) > 0) await earlier.press("Enter");
    await p.seesFocus();
    await p.sees(".assistant", "entry 1.");

    await p.prompt.fill(`SAY: ${"long ".repeat(20_000)}`); // 100,000 characters
    const start = Date.now();
    await p.prompt.press("End");
    await p.page.keyboard.type("er still");
    console.log(`# eight keys in a message of 100,000 characters: ${Date.now() - start} ms`);
    await p.prompt.fill(`SAY: ${"x".repeat(99)} `.repeat(1000));
    await p.prompt.press("Enter");
    const mine = p.chat.locator(".user").last();
    await mine.getByRole("button", { name: "Show the Rest" }).waitFor();
    assert.ok((await drawn(p)).entries <= 101, "the earlier entries are drawn");
    await p.idle();
    await p.send("a very long answer");
    const answer = p.chat.locator(".assistant", { hasText: "paragraph 1 " });
    const rest = answer.getByRole("button", { name: "Show the Rest" });
    await rest.waitFor();
    await p.idle();
    assert.ok((await drawn(p)).elements < 4000, JSON.stringify(await drawn(p)));
    assert.doesNotMatch(await answer.innerText(), /paragraph 1000 /);
    await rest.press("Enter");
    await answer.getByText("paragraph 1000 ").waitFor();
    await p.seesFocus();
    await p.toChat("New Thread");
  },
};
