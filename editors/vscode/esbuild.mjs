// Bundles the extension and its webview, and with --tests the unit tests.
import { readdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

const node = { bundle: true, platform: "node", target: "node20", format: "cjs", external: ["vscode"], logLevel: "warning" };

rmSync("dist/test", { recursive: true, force: true });
await Promise.all([
  build({ ...node, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js", minify: true }),
  build({
    bundle: true, platform: "browser", target: "es2022", format: "iife", logLevel: "warning",
    entryPoints: ["webview/main.ts"], outfile: "dist/chat.js", minify: true,
  }),
  process.argv.includes("--tests") &&
    build({
      ...node, external: [], alias: { vscode: "./test/fakeVscode.ts" }, outdir: "dist/test", sourcemap: "inline",
      entryPoints: readdirSync("test").filter((name) => name.endsWith(".test.ts")).map((name) => `test/${name}`),
    }),
]);
