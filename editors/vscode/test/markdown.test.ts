import assert from "node:assert/strict";
import { test } from "node:test";
import { type Inline, inline } from "../src/core/inline";
import { type Block, parse } from "../src/core/markdown";

/** Formats a tree, such as [strong: …]. */
const short = (nodes: Inline[]): string =>
  nodes
    .map((n) => {
      if (n.type === "text") return n.text;
      if (n.type === "break") return "[break]";
      if (n.type === "code") return `[code: ${n.text}]`;
      if (n.type === "link") return `[link ${n.href}: ${short(n.children)}]`;
      return `[${n.type}: ${short(n.children)}]`;
    })
    .join("");

for (const [text, want] of [
  ["plain", "plain"],
  ["a *b* c", "a [em: b] c"],
  ["**bold** and ***both***", "[strong: bold] and [strong: [em: both]]"],
  ["**bold with *em* in it**", "[strong: bold with [em: em] in it]"],
  ["snake_case_name and __init__", "snake_case_name and [strong: init]"],
  ["*** Begin Patch *** End", "*** Begin Patch *** End"],
  ["2 * 3 * 4", "2 * 3 * 4"],
  ["`a*b*` and ``x ` y``", "[code: a*b*] and [code: x ` y]"],
  ["an `open tick", "an `open tick"],
  ["~~gone~~", "[del: gone]"],
  ["\\*not\\*", "*not*"],
  ["[a](https://x.y/z_(1))", "[link https://x.y/z_(1): a]"],
  ["[a](javascript:alert(1))", "a"],
  ["[a](command:workbench.action.quit)", "a"],
  ["[a](data:text/html,x)", "a"],
  ["![alt](https://x.y/p.png)", "[link https://x.y/p.png: alt]"],
  ["see https://x.y/z.", "see [link https://x.y/z: https://x.y/z]."],
  ["<https://x.y>", "[link https://x.y: https://x.y]"],
  ["<script>alert(1)</script>", "<script>alert(1)</script>"],
  ["one\ntwo", "one two"],
  ["**bold *both***", "[strong: bold [em: both]]"],
  ["***both* bold**", "[strong: [em: both] bold]"],
  ["*a **b* c**", "[em: a [em: [em: b] c]]"],
  ["****a****", "****a****"],
  ["~~a", "~~a"],
  ["*a [b*](c)", "[em: a [b]](c)"],
  ["[a [b](https://x.y) c](https://z.y)", "[a [link https://x.y: b] c]([link https://z.y: https://z.y])"],
  ["[https://x.y](https://z.y)", "[link https://z.y: https://x.y]"],
  ["[a](https://x.y", "[a]([link https://x.y: https://x.y]"],
  ['[a](<https://x.y> "title")', "[link https://x.y: a]"],
  ["` a ` and `  `", "[code: a] and [code:   ]"],
  ["http:// and https://..", "http:// and https://.."],
] as const) {
  test(`inline: ${JSON.stringify(text)}`, () => assert.equal(short(inline(text)), want));
}

const outline = (b: Block): unknown => {
  switch (b.type) {
    case "paragraph":
      return short(b.children);
    case "heading":
      return `h${b.level} ${short(b.children)}`;
    case "code":
      return { [`code ${b.lang}`]: b.text };
    case "quote":
      return { quote: b.blocks.map(outline) };
    case "list":
      return { [b.ordered ? `ol ${b.start}` : "ul"]: b.items.map((i) => i.map(outline)) };
    case "table":
      return { table: [b.head, ...b.rows].map((r) => r.map(short)) };
    case "rule":
      return "rule";
  }
};

for (const [name, text, want] of [
  ["paragraphs", "a\nb\n\nc", ["a b", "c"]],
  ["headings", "# A\n## B #\n#no", ["h1 A", "h2 B", "#no"]],
  ["code", "```js\nlet a;\n\n```\nb", [{ "code js": "let a;\n" }, "b"]],
  ["an unclosed code block", "~~~\na\n```", [{ "code ": "a\n```" }]],
  ["a list in a list", "- a\n  - b\n  - c\n- d", [{ ul: [["a", { ul: [["b"], ["c"]] }], ["d"]] }]],
  ["an ordered list with a start", "3. a\n4. b", [{ "ol 3": [["a"], ["b"]] }]],
  ["code in a list", "1. a\n\n   ```\n   x\n   ```\n2. b", [{ "ol 1": [["a", { "code ": "x" }], ["b"]] }]],
  ["a list with empty lines", "- a\n\n- b\n\nend", [{ ul: [["a"], ["b"]] }, "end"]],
  ["a list after a paragraph", "Look:\n- a", ["Look:", { ul: [["a"]] }]],
  ["a quote", "> a\n> > b\n\nc", [{ quote: ["a", { quote: ["b"] }] }, "c"]],
  ["a table", "| a | b |\n|---|:-:|\n| 1 | **2** |\n| 3 |", [{ table: [["a", "b"], ["1", "[strong: 2]"], ["3"]] }]],
  ["a rule", "a\n\n---\n\nb", ["a", "rule", "b"]],
  ["CRLF", "a\r\n\r\n- b\r\n", ["a", { ul: [["b"]] }]],
] as const) {
  test(`blocks: ${name}`, () => assert.deepEqual(parse(text).map((p) => outline(p.block)), want));
}

test("appended text changes only the last block", () => {
  const text = "# A\n\nsome *text*\n- a\n- b\n\n  more\n\n```js\nlet x;\n```\n> q\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend";
  const whole = parse(text).map((p) => outline(p.block));
  for (let n = 1; n <= text.length; n++) {
    const part = parse(text.slice(0, n));
    const last = part.at(-1);
    if (!last) continue;
    const again = parse(text.slice(last.at)).map((p) => outline(p.block));
    assert.deepEqual([...part.slice(0, -1).map((p) => outline(p.block)), ...again], whole, JSON.stringify(text.slice(0, n)));
  }
});

test("deep spans stay text", () => {
  const depth = (nodes: Inline[]): number => Math.max(0, ...nodes.map((n) => ("children" in n ? 1 + depth(n.children) : 0)));
  const nested = inline(`${"*a ".repeat(30)}b${" a*".repeat(30)} *c*`);
  assert.equal(depth(nested), 12);
  assert.equal(short(nested).split("*").length - 1, 2 * (30 - 12), "each mark that is not emphasis stays");
});

test("hostile text neither overflows the stack nor loses text", () => {
  const letters = (value: unknown): number => JSON.stringify(value).split("a").length;
  for (const piece of ["*a", "**a ", "[a", "[a](", "`a", "``a", "> ", "- ", "|a", "_a", "<http://a", "~~a", "1. ", "*a* ", "[a](https://a) "]) {
    const text = piece.repeat(20_000);
    assert.ok(letters(parse(text)) >= letters(text), piece);
  }
});

// If one of these took the square of its length, this test would run for minutes.
for (const [name, before, piece, after] of [
  ["stars", "", "*", ""],
  ["stars and letters", "", "*a", ""],
  ["bold that no mark ends", "", "**a ", ""],
  ["brackets", "", "[", ""],
  ["brackets that end", "", "]", ""],
  ["links without an end", "", "[a](", ""],
  ["backticks", "", "` ``", ""],
  ["code that begins with a space", "` ", "a ", "`"],
  ["addresses", "", "<http://", ""],
  ["an address of dots", "http://", ".", ""],
  ["tildes before a backtick", "", "~", "`"],
  ["spaces in a heading", "# a", " ", "b"],
  ["spaces in a paragraph", "a\n", " ", "b"],
  ["spaces below the head of a table", "a|b\n", " ", "b"],
  ["a short row for each of many columns", `${"|".repeat(9_000)}\n${"|-".repeat(9_000)}\n`, "|\n", ""],
  ["a list with empty lines", "- a\n", "\n", "b"],
  ["spaces in a list", "- ", " ", "\u2028b"],
] as const) {
  test(`a long text of ${name}`, () => void parse(before + piece.repeat(200_000 / piece.length) + after));
}
