import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders: string[] = [];
process.on("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Creates a folder. The end of the process removes it, also after a test that failed. */
export function tempFolder(parent = tmpdir()): string {
  const folder = realpathSync(mkdtempSync(join(parent, "codex-bridge-test-")));
  folders.push(folder);
  return folder;
}
