// Bundles the extension and its webview, and with --tests the unit tests. The licences of the bundled packages go with
// them.
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const node = { bundle: true, platform: "node", target: "node20", format: "cjs", external: ["vscode"], logLevel: "warning" };

rmSync("dist/test", { recursive: true, force: true });
const bundles = await Promise.all([
  build({ ...node, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js", minify: true, metafile: true }),
  build({
    bundle: true, platform: "browser", target: "es2022", format: "iife", logLevel: "warning",
    entryPoints: ["webview/main.ts"], outfile: "dist/chat.js", minify: true, metafile: true,
  }),
  process.argv.includes("--tests") &&
    build({
      ...node, external: [], alias: { vscode: "./test/fakeVscode.ts" }, outdir: "dist/test", sourcemap: "inline",
      entryPoints: readdirSync("test").filter((name) => name.endsWith(".test.ts")).map((name) => `test/${name}`),
    }),
]);

const inputs = bundles.flatMap((bundle) => Object.keys(bundle.metafile?.inputs ?? {}));
const packages = [...new Set(inputs.flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []))].sort();
const licences = packages.map((name) => {
  const folder = join("node_modules", name);
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  if (!file) throw new Error(`${name} has no licence`);
  return `${name}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
});
writeFileSync("dist/licences.txt", licences.join("\n----\n\n"));
copyFileSync("../../LICENSE", "LICENSE.txt");
