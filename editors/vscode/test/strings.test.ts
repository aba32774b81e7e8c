import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as strings from "../src/core/strings";

/** The texts that the model reads, and those of errors in the program. */
const notForPeople = [/^src\/editor\/tools\.ts$/, /^src\/core\/toolOutput\.ts$/];

test("texts for people are in strings.ts alone", () => {
  const files = ["src", "webview"].flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)));
  for (const file of files.filter((name) => name.endsWith(".ts") && !name.endsWith("strings.ts") && !notForPeople.some((one) => one.test(name)))) {
    const code = readFileSync(file, "utf8").replace(/^\s*(?:\/\/|\/?\*).*$/gm, "").replace(/\s\/\/ .*$/gm, "");
    // A capital letter, and a second word: a sentence or a label.
    const texts = [...code.matchAll(/(["`])([A-Z][a-z']+ [^"`\n]*)\1/g)].map((match) => match[2]);
    assert.deepEqual(texts, [], file);
  }
});

test("no text of the cards occurs twice", () => {
  const all: string[] = [];
  const walk = (value: unknown): void => {
    if (typeof value === "string") all.push(value);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(walk);
  };
  walk([strings.policy, strings.request, strings.permission, strings.field, strings.program]);
  const twice = all.filter((text, i) => text.length > 12 && all.indexOf(text) !== i);
  assert.deepEqual(twice, []);
});

test("times are in words", () => {
  assert.deepEqual([0, 1_000, 59_000, 60_000, 90 * 60_000, 3_600_000].map(strings.duration), ["1 second", "1 second", "1 minute", "1 minute", "90 minutes", "1 hour"]);
  assert.deepEqual([-5, 1, 65_000, 120_000].map(strings.clock), ["0:00", "0:01", "1:05", "2:00"]);
});
