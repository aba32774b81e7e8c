// A client on vscode-jsonrpc, for the end-to-end tests: Content-Length framing
// and "jsonrpc":"2.0", as any LSP library has them.
//
// Arguments: JSON {cwd, prompts: [text…], decision}, then the command of the server.
// On stdout, a JSON line for each step.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";

const require = createRequire(new URL("../npm/package.json", import.meta.url));
const rpc = require("vscode-jsonrpc/node");
const { cwd, prompts, decision } = JSON.parse(process.argv[2]);
const [command, ...args] = process.argv.slice(3);

const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

const server = spawn(command, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
const gone = new Promise((resolve) => server.once("exit", (code, signal) => resolve({ code, signal })));

// Every message of the server is to have the version: the reader does not insist.
let messages = 0;
let versions = 0;
const reader = new rpc.StreamMessageReader(server.stdout);
const listen = reader.listen.bind(reader);
reader.listen = (callback) =>
  listen((message) => {
    messages++;
    if (message.jsonrpc === "2.0") versions++;
    callback(message);
  });

const connection = rpc.createMessageConnection(reader, new rpc.StreamMessageWriter(server.stdin));
connection.onError(([error]) => say({ step: "error", message: error.message }));

const notifications = [];
let wake = () => {};
connection.onNotification((method, params) => {
  notifications.push({ method, params });
  wake();
});
let asked = 0;
connection.onRequest("item/commandExecution/requestApproval", () => {
  asked++;
  return { decision };
});
connection.listen();

// notification is the first one that fits, from the past or to come.
const notification = async (fits) => {
  for (let i = 0; ; i++) {
    while (i >= notifications.length) await new Promise((resolve) => (wake = resolve));
    if (fits(notifications[i])) return notifications[i];
  }
};

const hello = await connection.sendRequest("initialize", {
  clientInfo: { name: "scripted-lsp", title: "Scripted LSP client", version: "0" },
  capabilities: { experimentalApi: true },
});
say({ step: "initialize", userAgent: hello.userAgent.split(" ")[0] });
await connection.sendNotification("initialized");

try {
  await connection.sendRequest("no/such/method", {});
} catch (error) {
  say({ step: "unknown method", code: error.code });
}

const { thread, approvalPolicy, sandbox } = await connection.sendRequest("thread/start", {
  cwd,
  approvalPolicy: "untrusted",
  sandbox: "read-only",
});
say({ step: "thread/start", approvalPolicy, sandbox });

for (const text of prompts) {
  asked = 0;
  const { turn } = await connection.sendRequest("turn/start", { threadId: thread.id, input: [{ type: "text", text }] });
  const end = await notification((n) => n.method === "turn/completed" && n.params.turn.id === turn.id);
  const said = notifications
    .filter((n) => n.method === "item/completed" && n.params.turnId === turn.id && n.params.item.type === "agentMessage")
    .map((n) => n.params.item.text);
  const deltas = notifications
    .filter((n) => n.method === "item/agentMessage/delta" && n.params.turnId === turn.id)
    .map((n) => n.params.delta);
  say({ step: "turn", text, status: end.params.turn.status, said, streamed: deltas.join("") === said.join(""), asked });
}

server.stdin.end();
const exit = await gone;
say({ step: "exit", ...exit, everyMessageHasAVersion: messages > 0 && messages === versions });
