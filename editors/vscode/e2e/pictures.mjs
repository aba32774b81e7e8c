// pictures.mjs FOLDER makes a PNG beside each HTML file of a folder: the screen of a Neovim, as its test has seen it.
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const folder = resolve(process.argv[2]);
const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
if (!executablePath) throw new Error("no chromium is installed; run `sh editors/vscode/e2e/chromium.sh`");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage();
for (const file of readdirSync(folder).filter((name) => name.endsWith(".html"))) {
  await page.goto(pathToFileURL(join(folder, file)).href);
  await page.locator("pre").screenshot({ path: join(folder, file.replace(/html$/, "png")) });
}
await browser.close();
