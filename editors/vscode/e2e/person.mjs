// What a person does and sees.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { patience } from "./code.mjs";

/** Waits until what is asked comes true. */
export async function until(what, ask) {
  const end = Date.now() + patience;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    assert.ok(Date.now() < end, `it did not come true: ${what}`);
    await sleep(50);
  }
}

export class Person {
  constructor(code) {
    this.code = code;
    this.page = code.page;
  }

  /** The page within the chat's view. */
  get chat() {
    return this.page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
  }

  get prompt() {
    return this.chat.locator("#prompt");
  }

  get status() {
    return this.page.locator('.statusbar-item[id="codex-bridge.codex-bridge.codexBridge.status"], .statusbar-item:has-text("Codex:")').first();
  }

  get toasts() {
    return this.page.locator(".notification-list-item");
  }

  /** The window is up, and the extension in it. */
  async arrives() {
    await this.page.locator(".monaco-workbench").waitFor();
    await this.status.waitFor();
  }

  async command(title) {
    await this.pick(`>${title}`, title);
  }

  /** A command that ends in the chat: until it has the focus, the palette would lose its own. */
  async toChat(title = "Go to Chat") {
    await this.command(`Codex Bridge: ${title}`);
    await this.chat.locator("#prompt:focus").waitFor();
  }

  /** What begins with > is a command, anything else a file. more: the command has a list of its own. */
  async pick(typed, wanted, more = false) {
    const box = this.page.locator(".quick-input-widget input");
    await this.page.keyboard.press("F1");
    await box.waitFor();
    await box.fill(typed);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: wanted }).first().click();
    if (!more) await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  }

  async closesEditors() {
    await this.command("View: Close All Editors");
    await until("no editor is open", async () => (await this.page.locator(".tabs-container .tab").count()) === 0);
  }

  async open(file) {
    await this.pick(file, file);
    await this.page.locator(".tab.active", { hasText: file }).waitFor();
  }

  async send(text) {
    await this.prompt.fill(text);
    await this.prompt.press("Enter");
  }

  /** Until no turn runs any more. */
  async idle() {
    await this.chat.locator("#stop").waitFor({ state: "hidden" });
  }

  async sees(selector, text) {
    await this.chat.locator(selector, { hasText: text }).last().waitFor();
  }

  /** The theme is another. */
  async theme(name, mark) {
    await this.pick(">Preferences: Color Theme", "Preferences: Color Theme", true);
    const box = this.page.locator(".quick-input-widget input");
    await box.fill(name);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().click();
    await this.page.locator(`.monaco-workbench.${mark}`).waitFor();
    await this.chat.locator(`body.${mark === "vs" ? "vscode-light" : mark === "vs-dark" ? "vscode-dark" : "vscode-high-contrast"}`).waitFor();
  }

  /** The side bar is as wide as this, as far as VS Code lets it. */
  async width(wanted) {
    const bar = this.page.locator(".part.sidebar");
    const { x, y, width } = await bar.boundingBox();
    await this.page.mouse.move(x + width, y + 300);
    await this.page.mouse.down();
    await this.page.mouse.move(x + wanted, y + 300, { steps: 4 });
    await this.page.mouse.up();
    await until("the side bar has its width", async () => Math.abs((await bar.boundingBox()).width - wanted) < 20);
  }

  /** Nothing of the chat is wider than the chat. */
  async fits() {
    const wide = await this.chat.locator("body").evaluate((body) => {
      const limit = body.clientWidth + 1;
      const scrolls = (node) => node.closest("pre, .wide") !== null;
      return [...body.querySelectorAll("*")].filter((n) => n.getBoundingClientRect().right > limit && !scrolls(n)).map((n) => n.outerHTML.slice(0, 120));
    });
    assert.deepEqual(wide, []);
  }

  /** Accepts what is asked until the turn is at its end. */
  async answersQuestions() {
    const accept = this.chat.locator('.ask [data-choice="accept"]');
    const stop = this.chat.locator("#stop");
    await stop.waitFor();
    await until("the turn has ended", async () => {
      if (await accept.first().isVisible()) await accept.first().click();
      return !(await stop.isVisible());
    });
  }

  ask(text) {
    return this.chat.locator(".ask", { hasText: text });
  }

  read(name) {
    try {
      return readFileSync(join(this.code.workspace, name), "utf8");
    } catch {
      return undefined;
    }
  }

  async shot(name) {
    const folder = process.env["CODEX_BRIDGE_SHOTS"];
    if (folder) await this.page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
  }
}
