// node test/run.mjs ARGUMENTS runs node --test with an empty folder for temporary files. It fails if the tests leave
// something in that folder.
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = mkdtempSync(join(tmpdir(), "codex-bridge-tests-"));
const tests = spawn(process.execPath, ["--test", ...process.argv.slice(2)], { stdio: "inherit", env: { ...process.env, TMPDIR: root } });
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => tests.kill(signal));
tests.on("exit", (code) => {
  const left = readdirSync(root);
  rmSync(root, { recursive: true, force: true });
  if (left.length > 0) console.error(`the tests left in the folder for temporary files: ${left.join(", ")}`);
  process.exitCode = code === 0 && left.length === 0 ? 0 : 1;
});
