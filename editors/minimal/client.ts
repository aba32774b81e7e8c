// A complete client of Codex. It sends one message, prints the reply as it streams, and asks for
// approvals in the terminal. It speaks the LSP base protocol, with vscode-jsonrpc.
//
//     npx tsc --module nodenext --target es2022 client.ts && node client.js "what is in this folder?"
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import * as rpc from "vscode-jsonrpc/node";

type Approval = { command?: string | null };
type ThreadStarted = { thread: { id: string } };

const codex = spawn("codex-bridge", ["app-server"], { stdio: ["pipe", "pipe", "inherit"] });
const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(codex.stdout),
  new rpc.StreamMessageWriter(codex.stdin),
);
const terminal = createInterface({ input: process.stdin });
const answers = terminal[Symbol.asyncIterator](); // buffers lines from now on

connection.onNotification("item/agentMessage/delta", (p: { delta: string }) => {
  process.stdout.write(p.delta);
});

for (const kind of ["commandExecution", "fileChange"]) {
  connection.onRequest(`item/${kind}/requestApproval`, async (p: Approval) => {
    process.stderr.write(`${kind} ${p.command ?? ""}\naccept? [y/N] `);
    const { value } = await answers.next();
    return { decision: value?.trim() === "y" ? "accept" : "decline" };
  });
}

const completed = new Promise<void>((resolve, reject) => {
  connection.onNotification("turn/completed", () => resolve());
  codex.once("error", reject);
  codex.once("exit", (code) => reject(new Error(`codex-bridge exited with status ${code}`)));
});

async function send(text: string): Promise<void> {
  await connection.sendRequest("initialize", { clientInfo: { name: "minimal", version: "1" } });
  await connection.sendNotification("initialized");
  const { thread } = await connection.sendRequest<ThreadStarted>("thread/start", {});
  await connection.sendRequest("turn/start", { threadId: thread.id, input: [{ type: "text", text }] });
}

connection.listen();
try {
  await Promise.race([completed, send(process.argv.slice(2).join(" ")).then(() => completed)]);
  process.stdout.write("\n");
} catch (error) {
  console.error("minimal:", error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  terminal.close();
  codex.stdin.end();
}
