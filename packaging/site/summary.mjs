// What the first page shows above the README: the cards, and what the bridge makes of the README's request.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Returns the answer of the FAQ to a question: its first sentence, without links in parentheses. */
export function answer(root, question) {
  const [, text] = readFileSync(join(root, "docs/guides/faq.md"), "utf8").split(`**${question}** `);
  return sentence(text.split("\n")[0]);
}

/** Returns the first sentence of Markdown as plain text. */
export function sentence(markdown) {
  const plain = markdown.replace(/ \(\[[^\]]*\]\([^)]*\)\)/g, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
  return plain.split(/(?<=[.?!])\s/)[0];
}

/** Returns the first paragraphs of a page as plain text of at most 160 characters. */
export function describe(markdown, title) {
  const blocks = markdown.replace(/^---\n.*?\n---\n/s, "").replace(/```.*?```/gs, "").split(/\n\s*\n/);
  const paragraphs = blocks.map((block) => block.trim()).filter((block) => /^[\p{L}`*\[]/u.test(block) && !/^.*\|.*\n[-|: ]+\|/.test(block));
  const plain = paragraphs.join(" ").replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*"]/g, "").replace(/\s+/g, " ");
  const text = plain ? `${title}: ${plain}` : `${title}, a page of the documentation of codex-bridge`;
  return text.length <= 160 ? text : `${text.slice(0, 159).replace(/\s+\S*$/, "")}…`;
}

/** Returns a row for each value of the README's request, as the editor sends it and as Codex gets it. */
export function changes(root) {
  const blocks = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/```json\n(.*?)```/gs)];
  if (blocks.length < 2) throw new Error("README.md: the first page needs a request before and after, as two blocks of JSON");
  const [sent, got] = blocks.map(([, json]) => JSON.parse(json).params);
  const values = (params) => new Map(Object.entries(params).flatMap(([key, value]) =>
    key === "config" ? Object.entries(value).map(([name, inner]) => [`config.${name}`, inner]) : [[key, value]]));
  const [before, after] = [values(sent), values(got)];
  return [...new Set([...before.keys(), ...after.keys()])].map((name) => {
    const [from, to] = [leaves(before.get(name)), leaves(after.get(name))];
    return { name, from, to, changed: from !== to };
  });
}

/** Returns the distinct values of nested objects, "" for none. */
function leaves(value) {
  if (value === undefined) return "";
  if (typeof value !== "object") return String(value);
  return [...new Set(Object.values(value).map(leaves))].join(", ");
}
