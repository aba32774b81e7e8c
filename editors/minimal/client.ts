// A whole editor for Codex: it sends one text, prints what streams back and asks in the
// terminal what Codex asks. It speaks the framing of language servers, with vscode-jsonrpc.
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
const typed = terminal[Symbol.asyncIterator](); // begins to read at once, and keeps what it reads

connection.onNotification("item/agentMessage/delta", (p: { delta: string }) => {
  process.stdout.write(p.delta);
});

for (const kind of ["commandExecution", "fileChange"]) {
  connection.onRequest(`item/${kind}/requestApproval`, async (p: Approval) => {
    process.stderr.write(`${kind} ${p.command ?? ""}\naccept? [y/N] `);
    const { value } = await typed.next();
    return { decision: value?.trim() === "y" ? "accept" : "decline" };
  });
}

const ended = new Promise<void>((resolve, reject) => {
  connection.onNotification("turn/completed", () => resolve());
  codex.once("error", reject);
  codex.once("exit", (code) => reject(new Error(`codex-bridge has ended with status ${code}`)));
});

async function say(text: string): Promise<void> {
  await connection.sendRequest("initialize", { clientInfo: { name: "minimal", version: "1" } });
  await connection.sendNotification("initialized");
  const { thread } = await connection.sendRequest<ThreadStarted>("thread/start", {});
  await connection.sendRequest("turn/start", { threadId: thread.id, input: [{ type: "text", text }] });
}

connection.listen();
try {
  await Promise.race([ended, say(process.argv.slice(2).join(" ")).then(() => ended)]);
  process.stdout.write("\n");
} catch (error) {
  console.error("minimal:", error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  terminal.close();
  codex.stdin.end();
}
