// Runs the process of an app-server.
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";
import { exitReason, type StderrLine } from "../core/exit";
import type { Program } from "../core/program";
import * as strings from "../core/strings/bridge";
import { LineReader, LineWriter } from "./lines";
import { connect, type Handlers, type Peer } from "./peer";

/** How long an app-server may take to exit after the end of its input, in milliseconds. The bridge waits two seconds for Codex. */
const grace = 4000;

/** How many lines of stderr are kept for the reason of an exit. */
const maxLines = 20;

export interface Child {
  readonly peer: Peer;
  /** Resolves with the reason of the exit. */
  readonly ended: Promise<string>;
  /** Ends the input, and kills the process if it does not exit. */
  stop(): Promise<void>;
}

export function start(program: Program, cwd: string, handlers: Handlers, log: (line: string) => void): Child {
  const child = spawn(program.command, program.args, {
    cwd,
    env: { ...process.env, ...program.env },
    stdio: ["pipe", "pipe", "pipe"],
    windowsHide: true,
  }) as ChildProcess & { stdin: Writable; stdout: Readable; stderr: Readable };

  const recent: StderrLine[] = [];
  let rest = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.trim() !== "") recent.push({ text: plain(line), at: Date.now() });
      recent.splice(0, recent.length - maxLines);
      log(plain(line));
    }
  });
  child.stdin.on("error", () => undefined); // EPIPE; the exit of the process has the reason

  const ended = new Promise<string>((done) => {
    child.on("error", (cause) => done(strings.program.cannotStart(program.command, cause.message)));
    child.on("close", (code, signal) => done(exitReason(program.name, code, signal, recent, Date.now())));
  });
  const logger = { error: log, warn: log, info: log, log };
  const [reader, writer] =
    program.framing === "headers"
      ? [new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin)]
      : [new LineReader(child.stdout), new LineWriter(child.stdin)];
  const peer = connect(reader, writer, handlers, logger, ended);
  void ended.then(() => peer.dispose());

  return {
    peer,
    ended,
    async stop() {
      child.stdin.end();
      const timer = setTimeout(() => child.kill("SIGKILL"), grace);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** Removes terminal colours from a line of a log. */
function plain(line: string): string {
  return line.replace(/\u001b\[[0-9;]*m/g, "").trimEnd();
}
