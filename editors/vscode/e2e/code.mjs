// Runs a real VS Code server on loopback, with its own folders, and a browser.
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const modules = join(here, "node_modules");
const node = join(modules, `node-linux-${process.arch}`, "bin", "node");
const entry = join(modules, "code-server", "out", "node", "entry.js");

const browsers = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const patience = 60_000;

/** Runs code-server to its end. After a failure, the error contains its output. */
export function run(args, env) {
  return new Promise((done, failed) => {
    const child = spawn(node, [entry, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    child.stdout.on("data", (data) => (text += data));
    child.stderr.on("data", (data) => (text += data));
    child.on("close", (code) => (code === 0 ? done(text) : failed(new Error(`code-server ${args.join(" ")}: ${code}\n${text}`))));
  });
}

function freePort() {
  return new Promise((done, failed) => {
    const server = createServer();
    server.on("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

export class Code {
  /** root: an empty folder for this instance. */
  constructor(root, workspace) {
    this.root = root;
    this.workspace = workspace;
    this.data = join(root, "data");
    this.extensions = join(root, "extensions");
    this.log = "";
    this.env = { ...process.env, XDG_CONFIG_HOME: join(root, "config"), CS_DISABLE_GETTING_STARTED_OVERRIDE: "1" };
    for (const folder of [join(this.data, "User"), join(this.data, "Machine"), this.extensions]) mkdirSync(folder, { recursive: true });
  }

  get folders() {
    return ["--user-data-dir", this.data, "--extensions-dir", this.extensions];
  }

  get userSettings() {
    return join(this.data, "User", "settings.json");
  }

  /** Writes the user settings. Call it before start. */
  settings(user) {
    writeFileSync(this.userSettings, JSON.stringify(user, null, 2));
  }

  /** Writes the machine settings, which name programs. */
  machine(settings) {
    writeFileSync(join(this.data, "Machine", "settings.json"), JSON.stringify(settings, null, 2));
  }

  /** Returns the user settings, or undefined while VS Code writes them. */
  user() {
    try {
      return JSON.parse(readFileSync(this.userSettings, "utf8"));
    } catch {
      return undefined;
    }
  }

  async install(vsix, ...others) {
    await run([...this.folders, "--install-extension", vsix], this.env);
    for (const folder of others) await this.link(folder);
  }

  /** Installs an extension from its folder. */
  async link(folder) {
    const { publisher, name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const to = join(this.extensions, `${publisher}.${name}-${version}`);
    cpSync(folder, to, { recursive: true });
    const list = join(this.extensions, "extensions.json");
    const all = JSON.parse(readFileSync(list, "utf8"));
    all.push({
      identifier: { id: `${publisher}.${name}` }, version, relativeLocation: `${publisher}.${name}-${version}`,
      location: { $mid: 1, path: to, scheme: "file" }, metadata: {},
    });
    writeFileSync(list, JSON.stringify(all));
  }

  async start() {
    const port = await freePort();
    const args = [
      entry, "--bind-addr", `127.0.0.1:${port}`, "--auth", "none", "--disable-telemetry", "--disable-update-check",
      "--disable-getting-started-override", ...this.folders, this.workspace,
    ];
    this.server = spawn(node, args, { env: this.env, stdio: ["ignore", "pipe", "pipe"] });
    const up = new Promise((done, failed) => {
      const data = (chunk) => {
        this.log += chunk;
        if (this.log.includes("HTTP server listening")) done();
      };
      this.server.stdout.on("data", data);
      this.server.stderr.on("data", data);
      this.server.on("close", (code) => failed(new Error(`code-server exited with status ${code}\n${this.log}`)));
    });
    await up;
    const executablePath = browsers.find((path) => existsSync(path));
    if (!executablePath) throw new Error(`none of ${browsers.join(", ")} is installed; run \`make editors\`, or install chromium`);
    this.browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 800 } });
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    this.page = await context.newPage();
    this.page.setDefaultTimeout(patience);
    this.address = `http://127.0.0.1:${port}/?folder=${encodeURIComponent(this.workspace)}`;
    await this.page.goto(this.address);
  }

  async stop() {
    await this.browser?.close();
    const { server } = this;
    if (!server || server.exitCode !== null) return;
    const ended = new Promise((done) => server.on("close", done));
    server.kill("SIGTERM");
    const timer = setTimeout(() => server.kill("SIGKILL"), 5000);
    await ended;
    clearTimeout(timer);
  }
}
