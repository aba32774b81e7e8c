// node main.mjs VSIX runs the scenes in order, and stops at the first failure.
import { mkdtempSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Code } from "./code.mjs";
import { User } from "./user.mjs";
import { scenes } from "./scenes.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const [, , vsix] = process.argv;
const { CODEX_BRIDGE_PROXY: proxy, CODEX_BRIDGE_ROOT: root, CODEX_BRIDGE_WORKSPACE: workspace } = process.env;

writeFileSync(join(workspace, ".git", "config"), "[core]\n\trepositoryformatversion = 0\n"); // VS Code reads it
writeFileSync(join(workspace, "greeting.txt"), "Hello\nworld\n");
writeFileSync(join(workspace, "broken.json"), '{"a": }\n');
if (process.env["CODEX_BRIDGE_SHOTS"]) mkdirSync(process.env["CODEX_BRIDGE_SHOTS"], { recursive: true });

const code = new Code(mkdtempSync(join(root, "code-")), workspace);
code.settings({
  "security.workspace.trust.startupPrompt": "never", "security.workspace.trust.banner": "never",
  "workbench.startupEditor": "none", "workbench.secondarySideBar.defaultVisibility": "hidden", "chat.disableAIFeatures": true,
  "telemetry.telemetryLevel": "off", "extensions.ignoreRecommendations": true, "window.commandCenter": false,
  "chatgpt.cliExecutable": "/opt/own/codex",
});
code.machine({ "codexBridge.path": proxy, "codexBridge.approvalPolicy": "untrusted" });

let failed = 0;
try {
  await code.install(vsix, join(here, "official"));
  await code.start();
  const user = new User(code);
  // CODEX_BRIDGE_SCENES chooses the scenes whose name matches; the first two open the chat.
  const wanted = new RegExp(process.env["CODEX_BRIDGE_SCENES"] ?? "");
  for (const [name, scene] of Object.entries(scenes).filter(([name], i) => i < 2 || wanted.test(name))) {
    const start = Date.now();
    try {
      await scene(user);
      console.log(`ok ${name} (${Date.now() - start} ms)`);
    } catch (cause) {
      failed = 1;
      console.log(`not ok ${name}\n${cause.stack}`);
      await code.page.screenshot({ path: join(root, "failed.png") });
      console.log(`the chat: ${await user.chat.locator("body").innerText({ timeout: 2000 }).catch((e) => e.message)}`);
      break;
    }
  }
} catch (cause) {
  failed = 1;
  console.log(`not ok\n${cause.stack}\n${code.log}`);
} finally {
  await code.stop();
}
if (failed) {
  for (const file of readdirSync(code.data, { recursive: true })) {
    if (/Codex Bridge.*\.log$/.test(file)) console.log(`${file}:\n${readFileSync(join(code.data, file), "utf8").slice(-6000)}`);
  }
}
process.exit(failed);
