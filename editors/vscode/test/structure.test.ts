import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

/** Returns the files that each file imports, also for types alone. */
function readImports(): Map<string, string[]> {
  const files = ["src", "webview"].flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)));
  return new Map(files.filter((name) => name.endsWith(".ts")).map((file) => {
    const names = [...readFileSync(file, "utf8").matchAll(/ from "(\.[^"]+)"/g)].map(([, name]) => `${join(dirname(file), name!)}.ts`);
    return [file, names];
  }));
}

/** Returns a circle of imports as text; undefined if there is none. */
function findCircle(imports: Map<string, string[]>): string | undefined {
  const done = new Set<string>();
  const visit = (file: string, path: string[]): string | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file].join(" → ");
    if (done.has(file)) return undefined;
    for (const next of imports.get(file) ?? []) {
      const circle = visit(next, [...path, file]);
      if (circle) return circle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of imports.keys()) {
    const circle = visit(file, []);
    if (circle) return circle;
  }
  return undefined;
}

test("no files import each other in a circle", () => {
  const imports = readImports();
  assert.ok(imports.get("src/extension.ts")!.includes("src/editor/app.ts"));
  assert.equal(findCircle(imports), undefined);
});

test("the core and the page do not depend on VS Code", () => {
  for (const [file, names] of readImports()) {
    if (!/^(?:src\/(?:core|rpc)|webview)\//.test(file)) continue;
    assert.doesNotMatch(readFileSync(file, "utf8"), / from "vscode"/, file);
    assert.deepEqual(names.filter((name) => name.startsWith("src/editor/")), [], file);
  }
});
