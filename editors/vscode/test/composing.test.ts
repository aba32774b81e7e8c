// The context of a message, slash commands, images and names of files.
import assert from "node:assert/strict";
import { test } from "node:test";
import { asMention, Attachments, findMentions, toInput } from "../src/core/attachments";
import { findFiles } from "../src/core/fileLinks";
import { checkImage, maxImage, maxImages } from "../src/core/image";
import { userContent } from "../src/core/items";
import { matching, parseSlash } from "../src/core/slash";
import { wordAt } from "../webview/completion";

test("mentions are spans of bytes, for paths that exist", () => {
  const exists = (path: string): boolean => ["src/a.ts", "a b/ü.md", "src"].includes(path);
  const spans = (text: string): string[] => findMentions(text, exists).map(({ byteRange, placeholder }) => {
    const shown = Buffer.from(text).subarray(byteRange.start, byteRange.end).toString();
    assert.equal(shown, placeholder, text);
    return shown;
  });
  assert.deepEqual(spans("ä see @src/a.ts, and @\"a b/ü.md\"."), ["@src/a.ts", '@"a b/ü.md"']);
  assert.deepEqual(spans("me@src/a.ts @gone @ @src (@src/a.ts)"), ["@src"]);
  assert.deepEqual(["src/a.ts", "a b"].map(asMention), ["@src/a.ts", '@"a b"']);
});

test("a message has its text first, then its context, which the chat shows by its first line", () => {
  const input = toInput("look", [
    { id: "1", kind: "selection", label: "a.ts:1–2", text: "a.ts, lines 1 to 2:\n```ts\nx\n```\n", path: "" },
    { id: "2", kind: "image", label: "p.png", text: "", path: "/private/p.png" },
  ], () => false);
  assert.deepEqual(input.map((part) => part.type), ["text", "text", "localImage"]);
  assert.equal(input[2]!.path, "/private/p.png");
  const shown = userContent(input);
  assert.equal(shown.text, "look");
  assert.deepEqual(shown.attachments.map((one) => one.label), ["a.ts, lines 1 to 2", "Image"]);
  assert.equal(userContent(input.slice(1)).text, "", "a selection without a text is context, too");
  assert.deepEqual(toInput("", [], () => false), []);
});

test("attachments come back if the message is not sent, and the files of images are removed", () => {
  const deleted: string[] = [];
  let changes = 0;
  const list = new Attachments(() => void changes++, (path) => deleted.push(path));
  const text = { kind: "selection", label: "a", text: "1", path: "" } as const;
  list.add(text);
  list.add({ ...text, text: "2" });
  list.add({ kind: "image", label: "p", text: "", path: "/p1" });
  list.add({ kind: "image", label: "p", text: "", path: "/p2" });
  assert.equal(list.chips().length, 3, "the same lines are there once, two images stay");
  list.remove(list.chips()[1]!.id);
  assert.deepEqual(deleted, ["/p1"]);
  const taken = list.take();
  assert.deepEqual(taken.map((one) => one.text || one.path), ["2", "/p2"]);
  assert.deepEqual(list.chips(), []);
  list.restore(taken);
  assert.equal(list.chips().length, 2);
  list.discard(list.take());
  assert.deepEqual(deleted, ["/p1", "/p2"]);
  assert.ok(changes > 5);
});

test("slash commands are known words; a path is text", () => {
  assert.deepEqual(parseSlash("/new"), { type: "command", name: "new", rest: "" });
  assert.deepEqual(parseSlash(" /review the\nparser "), { type: "command", name: "review", rest: "the\nparser" });
  for (const text of ["/etc/hosts is odd", "//", "/", "say /new"]) assert.equal(parseSlash(text).type, "text", text);
  assert.deepEqual(parseSlash("/foo bar"), { type: "problem", why: "There is no command /foo." });
  assert.deepEqual(parseSlash("/compact now"), { type: "problem", why: "The command /compact takes no text." });
  assert.deepEqual(matching("re"), ["review"]);
  assert.equal(matching("").length, 7);
});

test("the word before the caret is completed if it is a mention or a command", () => {
  assert.deepEqual(wordAt("look @src/a"), { start: 5, query: "src/a", kind: "mention" });
  assert.deepEqual(wordAt('look @"a b'), { start: 5, query: "a b", kind: "mention" });
  assert.deepEqual(wordAt("@"), { start: 0, query: "", kind: "mention" });
  assert.deepEqual(wordAt("/re"), { start: 0, query: "re", kind: "command" });
  for (const other of ["me@src", "@a b", "say /re", "/etc/h", "", '@"a b" ']) assert.equal(wordAt(other), undefined, other);
});

test("an image is known by its content, and limited", () => {
  const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]);
  assert.equal(checkImage("a", png, 0), "png");
  assert.equal(checkImage("a", new Uint8Array([0xff, 0xd8, 0xff, 0xe0]), 0), "jpg");
  assert.equal(checkImage("a", new TextEncoder().encode("RIFF....WEBPVP8 "), 0), "webp");
  assert.throws(() => checkImage("evil.png", new TextEncoder().encode("<svg onload=…>"), 0), /evil\.png is not a PNG, JPEG, GIF or WebP image/);
  assert.throws(() => checkImage("a", png, maxImages), /at most 8 images/);
  const large = new Uint8Array(maxImage + 1);
  large.set(png);
  assert.throws(() => checkImage("big.png", large, 0), /big\.png has 10\.0 MB\. Images can have at most 10\.0 MB/);
});

test("names of files are found in prose and output, and not in addresses", () => {
  const found = (text: string): string[] => findFiles(text).map((one) => {
    assert.equal(text.slice(one.at, one.at + one.text.length), one.text);
    return [one.path, one.line, one.column].filter(Boolean).join(":");
  });
  assert.deepEqual(found("see src/main.ts:12:5, and (lib/a_b.go:7)."), ["src/main.ts:12:5", "lib/a_b.go:7"]);
  assert.deepEqual(found("Makefile:3: *** and ./x/y.c(14,2): error in /etc/hosts.d/a.conf."), ["Makefile:3", "./x/y.c:14:2", "/etc/hosts.d/a.conf"]);
  assert.deepEqual(found("https://example.com/a.ts:12 at 12:30, a/b, e.g. 3.14 and example.com"), []);
  assert.deepEqual(found(`${"a/".repeat(20_000)}x.ts:1`), [], "a path is limited");
  assert.deepEqual(found(`${".".repeat(300_000)}a`), [], "and not searched if it is longer");
});
