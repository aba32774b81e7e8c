// Runs git on the private store of a folder. It reads no configuration of the user or the workspace, so that no filter,
// hook, driver or monitor of theirs runs.
import { spawn } from "node:child_process";
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, relative } from "node:path";
import * as strings from "./strings/changes";

const options = [
  "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c", "core.hooksPath=/dev/null",
  "-c", "core.autocrlf=false", "-c", "core.looseCompression=1", "-c", "gc.auto=0", "--literal-pathspecs",
];

const maxTries = 5;

export interface GitResult {
  code: number;
  out: Buffer;
  error: string;
}

/** Reports whether path is root or below it. */
export function isBelow(path: string, root: string): boolean {
  const rest = relative(root, path);
  return !isAbsolute(rest) && rest.split(/[\\/]/)[0] !== "..";
}

/** Returns the git program of PATH. A program of the workspace itself is not run. */
function findProgram(root: string): string | undefined {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter).filter(isAbsolute)) {
    const file = join(folder, process.platform === "win32" ? "git.exe" : "git");
    try {
      accessSync(file, constants.X_OK);
      if (statSync(file).isFile() && !isBelow(realpathSync(folder), root) && !isBelow(realpathSync(file), root)) return file;
    } catch {
      // not there
    }
  }
  return undefined;
}

export class Git {
  private readonly program: string;
  private readonly env: NodeJS.ProcessEnv;

  /** Throws if there is no git program. */
  constructor(store: string, private readonly root: string, index: string) {
    const program = findProgram(root);
    if (program === undefined) throw new Error(strings.changes.noGit);
    this.program = program;
    this.env = {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^GIT_/i.test(name))),
      GIT_DIR: store, GIT_WORK_TREE: root, GIT_INDEX_FILE: index,
      GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1", GIT_ATTR_NOSYSTEM: "1",
      GIT_TERMINAL_PROMPT: "0", GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C",
      GIT_AUTHOR_NAME: "codex-bridge", GIT_AUTHOR_EMAIL: "codex-bridge@localhost",
      GIT_COMMITTER_NAME: "codex-bridge", GIT_COMMITTER_EMAIL: "codex-bridge@localhost",
    };
  }

  /** Runs git. It does not throw for an exit code. It tries again if the gc of another window deletes the empty folder of a new object. */
  async try(args: string[], input: Buffer | string = "", env: NodeJS.ProcessEnv = {}): Promise<GitResult> {
    let result = await this.tryOnce(args, input, env);
    for (let i = 1; i < maxTries && result.code !== 0 && result.error.includes("unable to create temporary file"); i++) result = await this.tryOnce(args, input, env);
    return result;
  }

  private tryOnce(args: string[], input: Buffer | string, env: NodeJS.ProcessEnv): Promise<GitResult> {
    return new Promise((done) => {
      const out: Buffer[] = [];
      let error = "";
      const child = spawn(this.program, [...options, ...args], { cwd: this.root, env: { ...this.env, ...env }, windowsHide: true });
      child.stdout.on("data", (data: Buffer) => out.push(data));
      child.stderr.on("data", (data: Buffer) => (error = (error + data.toString()).slice(-2000)));
      child.stdin.on("error", () => undefined);
      child.on("error", (cause) => done({ code: 127, out: Buffer.alloc(0), error: cause.message }));
      child.on("close", (code) => done({ code: code ?? 127, out: Buffer.concat(out), error: error.trim() }));
      child.stdin.end(input);
    });
  }

  /** Runs git and returns its output. Throws if it fails. */
  async run(args: string[], input: Buffer | string = "", env: NodeJS.ProcessEnv = {}): Promise<Buffer> {
    const { code, out, error } = await this.try(args, input, env);
    if (code !== 0) throw new Error(strings.changes.gitFailed(args[0] ?? "", error.split("\n").at(-1) ?? ""));
    return out;
  }

  async line(args: string[], input: Buffer | string = "", env: NodeJS.ProcessEnv = {}): Promise<string> {
    return (await this.run(args, input, env)).toString().trim();
  }

  /** Returns the items of a NUL-terminated output. Each character of an item is a byte. */
  async items(args: string[]): Promise<string[]> {
    return (await this.run(args)).toString("latin1").split("\0").slice(0, -1);
  }

  /** Returns the user's own file of ignored names. The configuration of a repository is not read. */
  async excludesFile(): Promise<string> {
    const { code, out } = await this.try(["config", "--global", "--includes", "--type=path", "--get", "core.excludesFile"], "", { GIT_CONFIG_GLOBAL: undefined });
    if (code === 0) return out.toString().trim();
    return join(process.env["XDG_CONFIG_HOME"] || join(process.env["HOME"] ?? "/", ".config"), "git", "ignore");
  }
}
