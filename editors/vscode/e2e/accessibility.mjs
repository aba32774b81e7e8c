// Looks for faults that a screen reader or a keyboard meets in the page of the chat, by the rules of axe-core.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Asserts that the page has no fault. state: what it shows, for the message. */
export async function checkAccessibility(frame, state) {
  // Through the debugger: the policy of the page lets no other script run.
  if (!(await frame.evaluate("typeof axe !== 'undefined'"))) await frame.evaluate(axe);
  const faults = await frame.evaluate(async () => {
    // The page is transparent in the side bar, whose colour axe-core can't see.
    document.documentElement.style.backgroundColor = getComputedStyle(document.documentElement).getPropertyValue("--vscode-sideBar-background");
    // The arrow keys scroll this list from the text, and axe-core knows that of a combobox only, which a textarea can't be.
    const isScrolled = (id, node) => id === "scrollable-region-focusable" && node.target.join() === "#suggestions";
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] });
    const faults = violations.map(({ nodes, ...rule }) => ({ ...rule, nodes: nodes.filter((node) => !isScrolled(rule.id, node)) }));
    return faults.filter(({ nodes }) => nodes.length > 0).map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map((node) => `${node.html.slice(0, 160)} (${node.any.map((one) => one.message).join("; ")})`) }));
  });
  assert.deepEqual(faults, [], `the page "${state}"`);
}
