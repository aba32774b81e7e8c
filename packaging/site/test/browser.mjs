// browser.mjs FOLDER [SHOTS] opens every page of the built site in a browser, on a narrow and a wide window, in
// light and dark. It fails if a page is wider than the window, too long on a wide one, complains, asks another
// host for something, or has text that is hard to read; if the first window lacks the request before and after, or
// code of the first page scrolls; and if the search does not find a known term.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { lowContrast } from "./contrast.mjs";

const folder = resolve(process.argv[2]);
const shots = process.argv[3];
const base = process.env["SITE_BASE"] || "/";
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png", ".json": "application/json" };

// A server as simple as any that may have the site later. It knows no path without .html.
const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, "http://site");
  let file = join(folder, decodeURIComponent(pathname.slice(base.length)));
  if (existsSync(file) && statSync(file).isDirectory()) file = join(file, "index.html");
  if (!pathname.startsWith(base) || !file.startsWith(folder) || !existsSync(file)) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const origin = `http://127.0.0.1:${server.address().port}`;

const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
if (!executablePath) throw new Error("no chromium is installed; run `sh editors/vscode/e2e/chromium.sh`");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const pages = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".html") && file !== "404.html").sort();
const problems = [];
let visits = 0;
let heaviest = [0, ""];
let longest = [0, ""];

async function open(width, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const page = await context.newPage();
  page.weight = 0;
  const where = () => `${page.url().slice(origin.length)} (${width}, ${colorScheme})`;
  page.on("request", (request) => {
    const address = request.url();
    if (!address.startsWith(`${origin}/`) && !address.startsWith("data:")) problems.push(`${where()}: asks for ${address}`);
  });
  page.on("response", async (response) => {
    if (response.status() >= 400) problems.push(`${where()}: ${response.status()} for ${response.url()}`);
    page.weight += (await response.body().catch(() => "")).length;
  });
  page.on("console", (message) => problems.push(`${where()}: the console has: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`${where()}: ${error}`));
  return { page, where };
}

/** Returns what is wrong with the first page in the browser: its first window, and its code. */
function firstPage() {
  const found = [];
  const change = document.querySelector(".change")?.getBoundingClientRect();
  const rows = document.querySelectorAll(".change tr.changed");
  const needed = change && (innerWidth < 960 ? rows[1]?.getBoundingClientRect().bottom : change.bottom);
  if (!needed || needed > innerHeight) found.push(`the request before and after is not in the first window: it ends at ${needed}`);
  for (const box of document.querySelectorAll("pre")) if (innerWidth < 640 && box.scrollWidth > box.clientWidth) found.push(`code scrolls: ${box.textContent.slice(0, 40)}`);
  return found;
}

/** Searches for a key of the policy, and follows the first result. */
async function search(width, colorScheme) {
  const { page } = await open(width, colorScheme);
  await page.goto(`${origin}${base}index.html`, { waitUntil: "networkidle" });
  await page.locator(".DocSearch-Button").click();
  await page.locator(".VPLocalSearchBox input").fill("writable_roots");
  const results = page.locator(".VPLocalSearchBox .results .result");
  await results.first().waitFor();
  const found = await results.evaluateAll((all) => all.map((result) => result.getAttribute("href")));
  assert.ok(found.some((href) => href.endsWith("reference/policy.html#writable_roots")), `found ${found}`);
  for (const text of await page.evaluate(lowContrast)) problems.push(`the search (${width}, ${colorScheme}): ${text}`);
  await results.first().click();
  await page.waitForURL(/#/);
  await page.context().close();
}

try {
  for (const width of [400, 1400]) {
    for (const colorScheme of ["light", "dark"]) {
      for (const file of pages) {
        const { page, where } = await open(width, colorScheme);
        await page.goto(`${origin}${base}${file}`, { waitUntil: "networkidle" });
        visits++;
        if (page.weight > heaviest[0]) heaviest = [page.weight, file];
        const dark = await page.evaluate(() => document.documentElement.classList.contains("dark"));
        if (dark !== (colorScheme === "dark")) problems.push(`${where()}: does not follow the system's colours`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        if (wide > 0) problems.push(`${where()}: is ${wide} pixels wider than the window`);
        const high = await page.evaluate(() => document.documentElement.scrollHeight);
        if (high > longest[0]) longest = [high, file];
        if (width > 640 && high > 20_000) problems.push(`${where()}: is ${high} pixels long; put its tables behind a click`);
        if (file === "index.html") for (const text of await page.evaluate(firstPage)) problems.push(`${where()}: ${text}`);
        for (const name of await page.$$eval("th code", (all) => all.filter((code) => code.getClientRects().length > 1).map((code) => code.textContent))) {
          problems.push(`${where()}: the header ${name} is broken`);
        }
        const broken = await page.$$eval("img", (all) => all.filter((image) => image.complete && !image.naturalWidth).map((image) => image.src));
        for (const image of broken) problems.push(`${where()}: ${image} does not load`);
        for (const text of await page.evaluate(lowContrast)) problems.push(`${where()}: ${text}`);
        if (shots && ["index.html", "guides/team.html", "why.html", "internals/architecture.html"].includes(file)) {
          mkdirSync(shots, { recursive: true });
          await page.screenshot({ path: join(shots, `${file.replaceAll("/", "-")}-${width}-${colorScheme}.png`), fullPage: file === "index.html" });
        }
        await page.context().close();
      }
      await search(width, colorScheme).catch((error) => problems.push(`the search (${width}, ${colorScheme}): ${error}`));
    }
  }
} finally {
  await browser.close();
  server.close();
}
const distinct = [...new Set(problems)];
for (const problem of distinct) console.error(problem);
console.log(`${pages.length} pages, ${visits} visits, the heaviest ${heaviest[1]} with ${Math.round(heaviest[0] / 1024)} KiB, the longest ${longest[1]} with ${longest[0]} pixels, ${distinct.length} problems`);
process.exit(distinct.length ? 1 : 0);
