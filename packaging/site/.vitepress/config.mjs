// The pages are the repository's Markdown files: README.md is the first one, docs/ has the others. Nothing
// is copied. SITE_BASE is the path at which the site is served, SITE_REPOSITORY the address of the code. With a
// placeholder for that, the site has no links to it.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { slugify } from "../slugify.mjs";
import { answer, changes, describe } from "../summary.mjs";

const site = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const root = resolve(site, "../..");
const given = (process.env["SITE_REPOSITORY"] ?? "").replace(/\/$/, "");
const repository = /\.example(\/|$)/.test(given) ? "" : given;
const base = process.env["SITE_BASE"] || "/";

// The order of the side bar. A page of docs/ that is missing here fails the build.
const groups = [
  ["Start", ["docs/README.md", "docs/guides/install.md", "docs/guides/first-policy.md", "docs/guides/editors.md", "docs/guides/clients.md", "docs/why.md", "docs/guides/faq.md"]],
  ["Guides", [
    "docs/guides/recipes.md", "docs/guides/programs.md", "docs/guides/approvals.md", "docs/guides/tools.md", "docs/guides/serve.md", "docs/guides/conversations.md",
    "docs/guides/agents.md", "docs/guides/team.md", "docs/guides/troubleshooting.md",
  ]],
  ["Editors", ["editors/README.md", "editors/vscode/README.md", "editors/nvim/README.md"]],
  ["Reference", [
    "docs/reference/configuration.md", "docs/reference/policy.md", "docs/reference/rules.md", "docs/reference/lines.md", "docs/reference/tool-names.md",
    "docs/reference/methods.md",
    "docs/reference/cli.md", "docs/reference/protocol.md", "docs/glossary.md",
  ]],
  ["Security", ["docs/internals/threat-model.md", "docs/internals/doors.md"]],
  ["Internals", [
    "docs/internals/architecture.md", "docs/internals/tour.md", "docs/internals/codex.md", "docs/internals/reliability.md",
    "docs/internals/releases.md", "docs/internals/benchmarks.md", "docs/internals/desk.md",
  ]],
  ["Project", readdirSync(root).filter((file) => file.endsWith(".md") && file !== "README.md")],
];

const markdownIn = (folder) =>
  readdirSync(join(root, folder), { recursive: true }).filter((file) => file.endsWith(".md")).map((file) => `${folder}/${file}`);
const listed = groups.flatMap(([, files]) => files);
const missing = markdownIn("docs").filter((file) => !listed.includes(file));
if (missing.length) throw new Error(`${missing.join(", ")}: add them to groups in packaging/site/.vitepress/config.mjs`);
const pages = ["README.md", ...listed];

/** Returns the path of a source file on the site. */
function rewrite(file) {
  if (file === "README.md") return "index.md";
  if (file === "docs/README.md") return "docs.md";
  return file.replace(/^docs\//, "").replace(/README\.md$/, "index.md").replace(/^[A-Z]+\.md$/, (name) => name.toLowerCase());
}

function title(file) {
  const [, heading] = readFileSync(join(root, file), "utf8").match(/^# (.+)$/m);
  return heading.replace(/`/g, "");
}

const address = (file) => `/${rewrite(file).replace(/(^|\/)index\.md$/, "$1").replace(/\.md$/, "")}`;

/** Makes relative links, as they work in the repository, links to pages of the site or to the repository. */
function resolveLinks(md) {
  md.core.ruler.push("links", (state) => {
    const page = state.env.realPath ?? state.env.path;
    if (!page) return;
    const withoutLink = (token) => Object.assign(token, { tag: "span", attrs: null });
    let removed = false;
    for (const token of state.tokens.flatMap((block) => block.children ?? [])) {
      if (token.type === "link_close" && removed) {
        withoutLink(token);
        removed = false;
      }
      if (token.type !== "link_open") continue;
      const href = token.attrGet("href");
      if (/^([a-z]+:|#|\/)/i.test(href)) continue;
      const [file, anchor] = href.split("#");
      const target = relative(root, resolve(dirname(page), decodeURI(file)));
      if (!existsSync(join(root, target))) throw new Error(`${relative(root, page)}: ${href} does not exist`);
      const kind = statSync(join(root, target)).isDirectory() ? "tree" : "blob";
      if (!pages.includes(target) && !repository) {
        withoutLink(token);
        removed = true;
        continue;
      }
      const to = pages.includes(target) ? `/${rewrite(target)}` : `${repository}/${kind}/HEAD/${target}`;
      token.attrSet("href", anchor ? `${to}#${anchor}` : to);
    }
  });
}

/** Gives indented code the box of fenced code, which scrolls. */
function boxIndentedCode(md) {
  md.renderer.rules.code_block = (tokens, index, ...rest) => {
    tokens[index].info = "text";
    return md.renderer.rules.fence(tokens, index, ...rest);
  };
}

/** Renders a page for the search, which needs no colours in code. */
function renderPlain(source, env, md) {
  const { highlight } = md.options;
  md.options.highlight = null;
  try {
    return md.render(source, env);
  } finally {
    md.options.highlight = highlight;
  }
}

// The first page has a summary above the README, whose title it replaces.
const summary = {
  layout: "home",
  changes: changes(root),
  hero: {
    name: "codex-bridge",
    text: "A policy between your editor and Codex",
    tagline: "Editors start it in place of OpenAI's codex. It starts the real Codex, checks every message in between, and logs each decision.",
    actions: [
      { theme: "brand", text: "Try it offline", link: "#try-it" },
      { theme: "alt", text: "Install", link: address("docs/guides/install.md") },
      { theme: "alt", text: "Why not just …", link: address("docs/why.md") },
    ],
  },
  features: [
    { title: "Limits", details: "Sandbox, approvals, network, folders, models and configuration are never looser than you allow.", link: address("docs/guides/first-policy.md") },
    { title: "Questions", details: "Rules, remembered answers, your programs or a person decide about each tool call.", link: address("docs/guides/approvals.md") },
    { title: "Evidence", details: "Each change and refusal is in a hash-chained log before it takes effect.", link: `${address("docs/guides/approvals.md")}#decision-log` },
    { title: "Overhead", details: answer(root, "Does it slow Codex down?"), link: address("docs/internals/benchmarks.md") },
  ],
};

/** Returns the newest version of the changelog, and whether it has a date. */
function version() {
  const [, number, date] = readFileSync(join(root, "CHANGELOG.md"), "utf8").match(/^## (\S+) - (.+)$/m);
  return /^\d/.test(date) ? number : `${number}, not released yet`;
}

function hideTitle(md) {
  md.core.ruler.push("title", (state) => {
    if ((state.env.realPath ?? state.env.path) !== join(root, "README.md")) return;
    const at = state.tokens.findIndex((token) => token.type === "heading_open" && token.tag === "h1");
    if (at >= 0) state.tokens.splice(at, 3);
  });
}

/** Keeps Vue from reading {{ in the pages. */
function keepBraces(md) {
  const escape = (html) => html.replaceAll("{{", "&#123;&#123;");
  for (const rule of ["code_inline", "text"]) {
    const render = md.renderer.rules[rule];
    md.renderer.rules[rule] = (...args) => escape(render(...args));
  }
}

export default defineConfig({
  title: "codex-bridge",
  description: "codex-bridge stands between an editor and OpenAI's Codex, enforces your policy on each message, and logs each decision.",
  lang: "en",
  base,
  head: [["link", { rel: "icon", href: `${base}favicon.svg`, type: "image/svg+xml" }]],
  srcDir: root,
  outDir: join(root, "dist/site"),
  cacheDir: join(site, "node_modules/.vitepress"),
  srcExclude: excluded(),
  rewrites: Object.fromEntries(pages.map((file) => [file, rewrite(file)])),
  metaChunk: true,
  markdown: {
    linkify: false,
    anchor: { slugify },
    toc: { slugify },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    config(md) {
      md.use(resolveLinks).use(hideTitle).use(keepBraces).use(boxIndentedCode);
    },
  },
  transformPageData(page) {
    if (page.relativePath === "index.md") Object.assign(page.frontmatter, summary);
    else page.description = describe(readFileSync(join(root, page.filePath), "utf8"), page.title);
  },
  themeConfig: {
    search: { provider: "local", options: { _render: renderPlain } },
    outline: { level: [2, 3] },
    nav: [
      { text: "Guides", link: address("docs/README.md") },
      { text: "Reference", link: address("docs/reference/configuration.md") },
      { text: "Security", link: address("docs/internals/threat-model.md") },
      ...(repository ? [{ text: "Repository", link: repository }] : []),
      { text: version(), link: address("CHANGELOG.md") },
    ],
    footer: {
      message: `codex-bridge ${version()}. <a href="https://www.apache.org/licenses/LICENSE-2.0">Apache License 2.0</a>. Not a product of OpenAI; Codex is a name of its owner.`,
    },
    sidebar: groups.map(([text, files]) => ({
      text,
      items: files.map((file) => ({ text: title(file), link: address(file) })),
    })),
    socialLinks: [],
    docFooter: { prev: "Previous", next: "Next" },
  },
  vite: {
    publicDir: join(site, "public"),
    plugins: [{
      // Pages are outside the folder of node_modules.
      name: "vue-of-pages",
      enforce: "pre",
      resolveId(source, importer, options) {
        if (/^vue(\/|$)/.test(source) && importer?.includes(".md")) return this.resolve(source, join(site, "package.json"), { skipSelf: true, ...options });
      },
    }],
    server: { fs: { allow: [root] } },
  },
});

/** Returns patterns of all Markdown files that are no pages. */
function excluded() {
  const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => !entry.isFile() && !["docs", "editors"].includes(entry.name));
  const editors = readdirSync(join(root, "editors"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [
    ...folders.map((entry) => `${entry.name}/**`),
    ...editors.flatMap(({ name }) => [`editors/${name}/*/**`, `editors/${name}/!(README).md`]),
  ];
}
