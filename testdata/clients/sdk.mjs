// A client of OpenAI's SDK, for the end-to-end tests. Its argument is the program in place of codex. On
// stdout, a JSON line for each step.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// The package is beside this folder, where a bare import does not look.
const folder = createRequire(new URL("../npm/package.json", import.meta.url)).resolve.paths("x")[0];
const { Codex } = await import(pathToFileURL(`${folder}/@openai/codex-sdk/dist/index.js`));

const say = (step, value) => process.stdout.write(JSON.stringify({ step, ...value }) + "\n");

const codex = new Codex({ codexPathOverride: process.argv[2] });
const thread = codex.startThread({ sandboxMode: "workspace-write", workingDirectory: process.cwd() });
say("run", await thread.run("SAY: first"));

const { events } = await thread.runStreamed("RUN: echo streamed");
for await (const event of events) say("event", event);

const resumed = codex.resumeThread(thread.id);
say("resume", await resumed.run("SAY: second"));

const outputSchema = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false };
say("schema", await codex.startThread().run('SAY: {"a":"b"}', { outputSchema }));

say("image", await codex.startThread().run([{ type: "text", text: "Look." }, { type: "local_image", path: "image.png" }]));

await codex.startThread().run("FAIL").then(() => say("failed", { failed: false }), (error) => say("failed", { message: error.message }));

const controller = new AbortController();
const slow = codex.startThread().run("SLOW: 600000", { signal: controller.signal });
setTimeout(() => controller.abort(), 3000);
await slow.then(() => say("abort", { aborted: false }), (error) => say("abort", { aborted: error.name === "AbortError" }));
