import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldError, toContent, toField, type Property } from "../src/core/fields";
import { isComplete, toResponse, toServerRequest } from "../src/core/serverRequest";

const error = (property: Property, value: string, required = false): string => fieldError(toField("f", property, required ? ["f"] : []), value);

test("a field starts with its default", () => {
  assert.equal(toField("f", { type: "boolean", default: true }, []).initial, "true");
  assert.equal(toField("f", { type: "integer", default: 7 }, []).initial, "7");
  assert.equal(toField("f", { type: "string", enum: ["a", "b"], default: "b" }, []).initial, "b");
  assert.equal(toField("f", { type: "string" }, []).initial, "");
});

test("a true default that the user leaves is sent as true", () => {
  assert.deepEqual(toContent([toField("f", { type: "boolean", default: true }, [])], {}), { f: true });
  assert.deepEqual(toContent([toField("f", { type: "boolean", default: true }, [])], { f: "false" }), { f: false });
});

for (const [name, property, good, bad] of [
  ["an integer", { type: "integer" }, ["3", "-1", ""], ["2.5", "x"]],
  ["a number", { type: "number", minimum: 0, maximum: 2 }, ["2", "0.5", ""], ["-1", "2.1", "x", "Infinity"]],
  ["an email address", { type: "string", format: "email" }, ["a@b.org", ""], ["not an email", "a@b", "a b@c.de"]],
  ["a URI", { type: "string", format: "uri" }, ["https://example.com/x"], ["example"]],
  ["a date", { type: "string", format: "date" }, ["2026-03-01"], ["1 March", "2026-13-01"]],
  ["a time", { type: "string", format: "date-time" }, ["2026-03-01T09:30:00Z"], ["2026-03-01"]],
  ["a text with limits", { type: "string", minLength: 2, maxLength: 3 }, ["ab", "abc"], ["a", "abcd"]],
  ["one of the options", { type: "string", enum: ["a", "b"] }, ["a", ""], ["c"]],
] as [string, Property, string[], string[]][]) {
  test(`a field takes ${name}`, () => {
    for (const value of good) assert.equal(error(property, value), "", value);
    for (const value of bad) assert.notEqual(error(property, value), "", value);
  });
}

test("a required field must not be empty", () => {
  assert.equal(error({ type: "string" }, " ", true), "This field is required.");
  assert.equal(error({ type: "boolean" }, "", true), "");
});

test("a form with invalid values is not accepted, and can be declined", () => {
  const form = { serverName: "s", mode: "form", message: "", requestedSchema: { type: "object", properties: { n: { type: "integer" } } } };
  const request = toServerRequest("1", "mcpServer/elicitation/request", form, [])!;
  assert.equal(isComplete(request, "accept", { n: "2.5" }), false);
  assert.equal(isComplete(request, "decline", { n: "2.5" }), true);
  assert.deepEqual(toResponse(request, form, "accept", { n: "2.5" }), { action: "decline", content: null, _meta: null });
  assert.deepEqual(toResponse(request, form, "accept", { n: "2" }), { action: "accept", content: { n: 2 }, _meta: null });
});
