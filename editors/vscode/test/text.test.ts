import assert from "node:assert/strict";
import { test } from "node:test";
import { relativeTime } from "../src/core/text";

test("relativeTime uses the largest unit", () => {
  const minute = 60_000;
  for (const [past, want] of [[0, "now"], [-5, "now"], [59 * 1000, "now"], [minute, "1 min"], [90 * minute, "1 h"], [25 * 60 * minute, "1 day"], [49 * 60 * minute, "2 days"]] as const) {
    assert.equal(relativeTime(1e12 - past, 1e12), want);
  }
});
