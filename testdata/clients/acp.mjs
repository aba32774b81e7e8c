// An ACP client of codex-acp, for the end-to-end tests.
//
// One argument, JSON: {cwd, directories: [more folders], prompts: [text…], permission: "allow_once" | "reject_once" | "allow_always",
// command: [how codex-acp is started, if not plainly], env: {all of its environment, if not this process's}}.
// A prompt "MODE: X" chooses a mode instead, as the editor's menu does.
// codex-acp inherits the environment (CODEX_PATH, CODEX_HOME, INITIAL_AGENT_MODE …).
// On stdout, a JSON line for each step: what an ACP editor would show.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

// The packages are beside this folder, where a bare import does not look.
const require = createRequire(new URL("../npm/package.json", import.meta.url));
const acp = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk")));
const { cwd, directories, prompts, permission, command, env } = JSON.parse(process.argv[2]);

const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

const [program, ...args] = command ?? [process.execPath, require.resolve("@agentclientprotocol/codex-acp")];
const agent = spawn(program, args, {
  stdio: ["pipe", "pipe", "inherit"],
  env: env ?? process.env,
});
const gone = new Promise((resolve) => agent.once("exit", (code, signal) => resolve({ code, signal })));

let asked = [];
const editor = acp
  .client({ name: "scripted-acp" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    const option = params.options.find((o) => o.kind === permission);
    asked.push({ kind: params.toolCall.kind ?? null, options: params.options.map((o) => o.kind).sort() });
    return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
  });

await editor.connectWith(
  acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)),
  async (context) => {
    const hello = await context.request(acp.methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientInfo: { name: "scripted-acp", version: "0" },
      clientCapabilities: {},
    });
    say({ step: "initialize", protocolVersion: hello.protocolVersion, agent: hello.agentInfo?.name ?? null });

    const session = context.buildSession(cwd);
    if (directories?.length) session.withAdditionalDirectories(directories);
    const hold = async (session) => {
      say({ step: "session/new", mode: session.modes?.currentModeId ?? null });
      for (const prompt of prompts) {
        if (prompt.startsWith("MODE: ")) {
          const params = { sessionId: session.sessionId, modeId: prompt.slice(6) };
          const answer = await context.request(acp.methods.agent.session.setMode, params).then(
            () => "chosen",
            (error) => error.message,
          );
          say({ step: "mode", mode: params.modeId, answer });
          continue;
        }
        asked = [];
        let text = "";
        const tools = new Map(); // id → the last that was said of it
        session.prompt(prompt).catch(() => {}); // its end is the stop message
        let message;
        while ((message = await session.nextUpdate()).kind !== "stop") {
          const { update } = message;
          if (update.sessionUpdate === "agent_message_chunk") text += update.content.text ?? "";
          if (update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update") {
            const { kind, status } = update;
            tools.set(update.toolCallId, { ...tools.get(update.toolCallId), ...(kind && { kind }), ...(status && { status }) });
          }
        }
        say({ step: "prompt", prompt, stopReason: message.stopReason, text, tools: [...tools.values()], asked });
      }
    };
    await session.withSession(hold).catch((error) => say({ step: "session", error: error.message, data: error.data ?? null }));
  },
);

// As editors do it: the end of input, and nothing else.
agent.stdin.end();
say({ step: "exit", ...(await gone) });
