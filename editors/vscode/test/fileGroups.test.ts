// The files of a card by folder, and the titles of narrow tabs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { groupFiles, maxFlat } from "../src/core/fileGroups";
import { withoutSharedStart } from "../src/core/tabTitles";

const files = (paths: string[]): { path: string; added: number; removed: number }[] => paths.map((path) => ({ path, added: 2, removed: 1 }));
const groups = (paths: string[]): [string, number][] | undefined => groupFiles(files(paths), (file) => file.path)?.map((group) => [group.folder, group.files.length]);
const many = (count: number, pathOf: (i: number) => string): string[] => Array.from({ length: count }, (_, i) => pathOf(i));

test("few files are not grouped, many are grouped by folder, with their counts and places", () => {
  assert.equal(groups(many(maxFlat, (i) => `src/${i}.ts`)), undefined);
  assert.deepEqual(groups([...many(9, (i) => `src/core/${i}.ts`), "README.md", "src/x.ts"]), [["src/core", 9], ["", 1], ["src", 1]]);
  const [first, second] = groupFiles(files(many(20, (i) => `${i % 2}/x${i}`)), (file) => file.path)!;
  assert.deepEqual([first!.added, first!.removed, second!.files.map(({ index }) => index)], [20, 10, [1, 3, 5, 7, 9, 11, 13, 15, 17, 19]]);
});

test("many folders are joined to those above them", () => {
  assert.deepEqual(groups(many(200, (i) => `${i % 4}/sub${i}/x`)), [["0", 50], ["1", 50], ["2", 50], ["3", 50]]);
  assert.equal(groups(many(30, (i) => `top${i}/x`))?.length, 30);
  assert.deepEqual(groups(many(12, (i) => `/etc/a${i}`)), [["/etc", 12]]);
});

test("titles lose the words that all share, and never all words", () => {
  assert.deepEqual(withoutSharedStart(["project: fix the parser", "project: fix the lexer"]), ["parser", "lexer"]);
  assert.deepEqual(withoutSharedStart(["New chat", "New chat"]), ["chat", "chat"]);
  assert.deepEqual(withoutSharedStart(["fix it", "fix it now"]), ["it", "it now"]);
  assert.deepEqual(withoutSharedStart(["parser", "lexer"]), ["parser", "lexer"]);
  assert.deepEqual(withoutSharedStart(["only one"]), ["only one"]);
});
