import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as bridgeStrings from "../src/core/strings/bridge";
import * as requestStrings from "../src/core/strings/requests";

/** The files of all texts that the user sees, except those of commands, settings and the walkthrough in package.json. */
const forPeople = /^src\/core\/strings\//;
/** The texts that the model reads, and those of errors in the program. */
const notForPeople = [/^src\/editor\/tools\.ts$/, /^src\/core\/toolOutput\.ts$/];

test("texts for people are in src/core/strings alone", () => {
  const files = ["src", "webview"].flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)));
  for (const file of files.filter((name) => name.endsWith(".ts") && !forPeople.test(name) && !notForPeople.some((one) => one.test(name)))) {
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
  walk([requestStrings.policy, requestStrings.request, requestStrings.permission, requestStrings.field, bridgeStrings.program]);
  const twice = all.filter((text, i) => text.length > 12 && all.indexOf(text) !== i);
  assert.deepEqual(twice, []);
});
