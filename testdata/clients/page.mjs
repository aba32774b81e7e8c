// page.mjs MODULES PAGE SHOTS: opens a page of `codex-bridge trace html` in a browser, as a person would, and
// prints what there was to see as JSON. Whatever the page wants to load, or complains of, is an error.
import { createRequire } from "node:module";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, page, shots] = process.argv.slice(2);
const { chromium } = createRequire(join(modules, "x.js"))("playwright-core");
const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const seen = { problems: [], colors: {} };
try {
  for (const colorScheme of ["light", "dark"]) {
    const tab = await browser.newPage({ colorScheme, viewport: { width: 1100, height: 800 } });
    tab.on("request", (r) => r.url().startsWith("file:") || seen.problems.push(`it loads ${r.url()}`));
    tab.on("console", (m) => seen.problems.push(m.text()));
    tab.on("pageerror", (e) => seen.problems.push(String(e)));
    await tab.goto(pathToFileURL(page).href);
    seen.colors[colorScheme] = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
    seen.title = await tab.title();
    seen.rows = await tab.$$eval(".row:not([hidden]) .title", (all) => all.map((row) => row.textContent.trim()));
    // By the keyboard alone: down to the second row, open it, search.
    await tab.keyboard.press("j");
    await tab.keyboard.press("ArrowDown");
    await tab.keyboard.press("Enter");
    seen.opened = await tab.$$eval("details[open] .title", (all) => all.map((row) => row.textContent.trim()));
    await tab.screenshot({ path: join(shots, `trace-${colorScheme}.png`), fullPage: true });
    await tab.keyboard.press("/");
    await tab.keyboard.type("denied by the test");
    seen.found = await tab.$$eval(".row:not([hidden]) .title", (all) => all.map((row) => row.textContent.trim()));
    await tab.keyboard.press("Escape");
    await tab.fill("#search", "");
    await tab.check("#blocked");
    seen.stopped = await tab.$$eval(".row:not([hidden]) .title", (all) => all.map((row) => row.textContent.trim()));
    await tab.close();
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(seen));
