// check.mjs FOLDER fails if a link or an anchor of the built site leads nowhere or to a placeholder, if a page loads
// something from elsewhere, or if it does not have a description of its own and the license at its end.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize, resolve } from "node:path";

const folder = resolve(process.argv[2]);
const base = process.env["SITE_BASE"] || "/";
const files = readdirSync(folder, { recursive: true });
const pages = new Map(files.filter((file) => file.endsWith(".html")).map((file) => [file, readFileSync(join(folder, file), "utf8")]));
const anchors = new Map([...pages].map(([file, html]) => [file, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => unescape(id)))]));

const problems = new Set(pages.size ? [] : [`${folder} has no pages`]);
let links = 0;
let outside = 0;

function unescape(text) {
  return text.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

const descriptions = new Map();
for (const [page, html] of pages) {
  if (page === "404.html") continue;
  const [, description = ""] = html.match(/<meta name="description" content="([^"]*)"/) ?? [];
  if (description.length < 40) problems.add(`${page}: the description is short: ${description}`);
  if (descriptions.has(description)) problems.add(`${page}: has the description of ${descriptions.get(description)}`);
  descriptions.set(description, page);
  if (!html.includes("Apache License 2.0</a>")) problems.add(`${page}: has no license at its end`);
}

for (const [page, html] of pages) {
  for (const [, tag, attribute, value] of html.matchAll(/<([a-z]+)\b[^>]*? (href|src)="([^"]*)"/g)) {
    const link = unescape(value);
    links++;
    if (/^[a-z]+:/i.test(link) || link.startsWith("//")) {
      outside++;
      if (/^https?:\/\/codex-bridge\.example/.test(link)) problems.add(`${page}: ${link} is a placeholder`);
      // A reader may follow a link to elsewhere. A page loads nothing from there.
      if ((tag !== "a" || attribute !== "href") && !link.startsWith("data:")) problems.add(`${page}: loads ${link}`);
      continue;
    }
    const [path, anchor] = link.split("#");
    let target = page;
    if (path.startsWith("/")) {
      if (!path.startsWith(base)) problems.add(`${page}: ${link} is outside ${base}`);
      target = path.slice(base.length);
    } else if (path) target = normalize(join(dirname(page), path));
    target = decodeURI(target.split("?")[0]);
    if (target === "" || target.endsWith("/")) target += "index.html";
    const name = [target, `${target}.html`].find((file) => existsSync(join(folder, file)) && statSync(join(folder, file)).isFile());
    if (!name) problems.add(`${page}: ${link} does not exist`);
    else if (anchor && !anchors.get(name)?.has(decodeURIComponent(anchor))) problems.add(`${page}: ${link} has no such anchor`);
  }
  for (const image of html.match(/<img\b[^>]*>/g) ?? []) if (!/ alt="[^"]+"/.test(image)) problems.add(`${page}: ${image} has no text`);
}
for (const file of files.filter((name) => name.endsWith(".css"))) {
  for (const [, address] of readFileSync(join(folder, file), "utf8").matchAll(/url\(["']?((?:https?:)?\/\/[^)"']*)/g)) problems.add(`${file}: loads ${address}`);
}

for (const problem of problems) console.error(problem);
console.log(`${pages.size} pages, ${links} links and files (${outside} to elsewhere), ${problems.size} problems`);
process.exit(problems.size ? 1 : 0);
