#!/usr/bin/env node
// Runs the program for this system. npm has installed it as one of the optional dependencies.
"use strict";

const { spawn } = require("node:child_process");

const system = `${process.platform}-${process.arch}`;
const manifest = require("../package.json");
const name = `${manifest.name}-${system}`;

function fail(message, status) {
  console.error(`codex-bridge: ${message}`);
  process.exit(status);
}

let program;
try {
  program = require.resolve(`${name}/bin/codex-bridge${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  if (name in manifest.optionalDependencies) {
    fail(`the npm package ${name} is not installed. Install ${manifest.name} again on this system, without --omit=optional: npm install ${manifest.name}@${manifest.version}`, 1);
  }
  fail(`there is no program for ${system}. Build it from source: ${manifest.homepage}`, 1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => fail(`can't start ${program}: ${error.message}`, 126));

// Windows sends Ctrl-C to both processes, and kill would end the program at once. A listener alone keeps
// this process until the program has ended.
const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];
for (const signal of process.platform === "win32" ? ["SIGINT"] : signals) {
  process.on(signal, () => process.platform !== "win32" && child.kill(signal));
}

child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
