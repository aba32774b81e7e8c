// Drives VS Code as a user.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { checkAccessibility } from "./accessibility.mjs";
import { patience } from "./code.mjs";

/** Lets the scripted model continue. */
export const release = (name) => console.log(`@release ${name}`);

/** Waits until check returns a true value, and returns it. */
export async function until(description, check) {
  const end = Date.now() + patience;
  for (;;) {
    const result = await check();
    if (result) return result;
    assert.ok(Date.now() < end, `timeout: ${description}`);
    await sleep(50);
  }
}

/** Returns the ids of the test's processes that run this program. */
export function running(program) {
  return readdirSync("/proc").filter((pid) => {
    try {
      if (!/^\d+$/.test(pid) || !readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[0].endsWith(program)) return false;
      return readFileSync(`/proc/${pid}/environ`, "utf8").includes(process.env["CODEX_BRIDGE_STATE"]);
    } catch {
      return false;
    }
  });
}

/** Runs in a page: shows the folders of the test as those of a user, for the pictures of the docs. */
function nameFolders(root) {
  globalThis.renamed = [];
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const node = nodes.currentNode;
    if (!node.data.includes(root)) continue;
    globalThis.renamed.push([node, node.data]);
    node.data = node.data.replaceAll(`${root}/workspace`, "/home/you/project").replaceAll(root, "/home/you");
  }
}

export class User {
  constructor(code) {
    this.code = code;
    this.page = code.page;
  }

  /** The webview of the chat. */
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

  /** Waits for the window and the extension. */
  async waitForExtension() {
    await this.page.locator(".monaco-workbench").waitFor();
    await this.status.waitFor();
  }

  async command(title) {
    await this.pick(`>${title}`, title);
  }

  /** Runs a command that opens a list or an input box. */
  async openList(title) {
    await this.pick(`>Codex Bridge: ${title}`, `Codex Bridge: ${title}`, true);
  }

  /** Runs a command that focuses the chat, and waits for the focus. */
  async toChat(title = "Go to Chat") {
    await this.command(`Codex Bridge: ${title}`);
    await this.chat.locator("#prompt:focus").waitFor();
  }

  /** Picks a command (typed starts with >) or a file. more: the command opens another list. */
  async pick(typed, wanted, more = false) {
    const box = this.page.locator(".quick-input-widget input");
    // A list that is just closing takes the key and no text.
    await until(`${typed} is typed`, async () => {
      await this.page.keyboard.press("F1");
      return box.fill(typed, { timeout: 3000 }).then(
        () => true,
        () => false,
      );
    });
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: wanted }).first().click();
    if (!more) await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  }

  async closeEditors() {
    const tabs = this.page.locator(".tabs-container .tab");
    // Once in several runs editors stayed open after the command. The reason is unknown.
    await until("no editor is open", async () => {
      await this.command("View: Close All Editors");
      return tabs.first().waitFor({ state: "detached", timeout: 5000 }).then(
        () => true,
        () => false,
      );
    });
  }

  async open(file) {
    await this.pick(file, file);
    await this.page.locator(".tab.active", { hasText: file }).waitFor();
  }

  async send(text) {
    await this.prompt.fill(text);
    await this.prompt.press("Enter");
  }

  /** Waits until no turn is running. */
  async idle() {
    await this.chat.locator("#stop").waitFor({ state: "hidden" });
  }

  async sees(selector, text) {
    await this.chat.locator(selector, { hasText: text }).last().waitFor();
  }

  /** Sets the color theme. */
  async theme(name, mark) {
    await this.pick(">Preferences: Color Theme", "Preferences: Color Theme", true);
    const box = this.page.locator(".quick-input-widget input");
    await box.fill(name);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().click();
    await this.page.locator(`.monaco-workbench.${mark}`).waitFor();
    await this.chat.locator(`body.${mark === "vs" ? "vscode-light" : mark === "vs-dark" ? "vscode-dark" : "vscode-high-contrast"}`).waitFor();
  }

  /** Sets the width of the side bar. */
  async width(wanted) {
    const bar = this.page.locator(".part.sidebar");
    const { x, y, width } = await bar.boundingBox();
    await this.page.mouse.move(x + width, y + 300);
    await this.page.mouse.down();
    await this.page.mouse.move(x + wanted, y + 300, { steps: 4 });
    await this.page.mouse.up();
    await until("the side bar has its width", async () => Math.abs((await bar.boundingBox()).width - wanted) < 20);
  }

  /** Takes pictures of widths in a light theme and in the dark one, which stays. Nothing is wider than the chat. */
  async widths(name, widths) {
    for (const [theme, mark] of [["Light Modern", "vs"], ["Dark Modern", "vs-dark"]]) {
      await this.theme(theme, mark);
      for (const width of widths) {
        await this.width(width);
        await this.fits();
        await this.shot(`${name}-${mark}-${width}`);
      }
    }
    await this.width(300);
  }

  /** Asserts that nothing is wider than the chat. */
  async fits() {
    const wide = await this.chat.locator("body").evaluate((body) => {
      const limit = body.clientWidth + 1;
      const scrolls = (node) => node.closest("pre, .wide") !== null;
      return [...body.querySelectorAll("*")].filter((n) => n.getBoundingClientRect().right > limit && !scrolls(n)).map((n) => n.outerHTML.slice(0, 120));
    });
    assert.deepEqual(wide, []);
  }

  /** Asserts that an element of the chat has the focus, that it shows so, and that it is in view. */
  async seesFocus() {
    const focus = await this.chat.locator("body").evaluate((body) => {
      const node = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(node);
      const { top, bottom, left, right } = node.getBoundingClientRect();
      const inView = bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
      return { node: node === body ? "none" : node.outerHTML.slice(0, 120), isMarked: outlineStyle !== "none" && outlineWidth !== "0px", inView };
    });
    assert.notEqual(focus.node, "none", "the focus is lost");
    assert.ok(focus.isMarked && focus.inView, JSON.stringify(focus));
  }

  /** Accepts all requests until check returns a true value. */
  async acceptUntil(description, check) {
    const accept = this.chat.locator('.request [data-choice="accept"]').first();
    await until(description, async () => {
      // A request that is gone before the click would make the click wait.
      if (await accept.isVisible()) await accept.click({ timeout: 5000 }).catch(() => undefined);
      return check();
    });
  }

  /** Accepts all requests until Codex has written a text. A turn may end before its start is visible. */
  async acceptRequests(text) {
    const answer = this.chat.locator(".assistant", { hasText: text });
    await this.acceptUntil(`the answer ${text}`, async () => (await answer.count()) > 0);
    await this.idle();
  }

  /** Presses the two keys of a command in the chat. */
  async chord(key) {
    await this.prompt.press("Control+Alt+j");
    await this.page.locator(".part.statusbar", { hasText: "Waiting for second key" }).waitFor();
    await this.prompt.press(key);
  }

  /** Hides the side bar, and waits until the page of the chat is gone. */
  async hideChat() {
    await this.command("View: Toggle Primary Side Bar Visibility");
    await this.page.locator("iframe.webview.ready").waitFor({ state: "hidden" });
  }

  /** Expands or collapses the list of threads. */
  async showThreads(wanted) {
    const header = this.page.locator(".pane-header", { hasText: "Threads" });
    const isShown = async () => (await header.getAttribute("aria-expanded")) === String(wanted);
    await until("the list of threads has its state", async () => {
      if (await isShown()) return true;
      await header.click();
      await sleep(500); // a click on a header that moves is lost
      return isShown();
    });
  }

  get list() {
    return this.page.locator(".quick-input-list .monaco-list-row");
  }

  request(text) {
    return this.chat.locator(".request", { hasText: text });
  }

  read(name) {
    try {
      return readFileSync(join(this.code.workspace, name), "utf8");
    } catch {
      return undefined;
    }
  }

  /** Checks the accessibility of the chat if it is visible, and takes a picture of the window. */
  async shot(name) {
    const frames = await Promise.all(this.page.frames().map(async (frame) => ({ frame, isChat: await frame.locator("#prompt, #blocked").count().catch(() => 0) })));
    for (const { frame, isChat } of frames) if (isChat > 0) await checkAccessibility(frame, name);
    const folder = process.env["CODEX_BRIDGE_SHOTS"];
    if (!folder) return;
    for (const { frame } of frames) await frame.evaluate(nameFolders, process.env["CODEX_BRIDGE_ROOT"]).catch(() => undefined);
    await this.page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
    for (const { frame } of frames) await frame.evaluate(() => globalThis.renamed?.forEach(([node, text]) => (node.data = text))).catch(() => undefined);
  }
}
