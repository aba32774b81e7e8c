// Which program is started, and how it is spoken to. Pure: what is on the disk is asked of a function.
import * as path from "node:path";

export interface Program {
  readonly kind: "bridge" | "codex";
  readonly name: string;
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
  readonly framing: "headers" | "lines";
}

export interface Where {
  readonly path: string;
  readonly codexPath: string;
  readonly configFile: string;
}

export const defaultPath = "codex-bridge";

/** The program of the settings. The error of what is set and not there says so: an editor that was told of a gate gets no other program. */
export function choose(where: Where, find: (name: string) => string | undefined): Program {
  const bridge = find(where.path);
  if (bridge) {
    const env: Record<string, string> = {};
    if (where.codexPath) env["CODEX_BRIDGE_CODEX"] = where.codexPath;
    if (where.configFile) env["CODEX_BRIDGE_CONFIG"] = where.configFile;
    return { kind: "bridge", name: "codex-bridge", command: bridge, args: ["app-server"], env, framing: "headers" };
  }
  if (where.path !== defaultPath) {
    throw new Error(`${where.path || "(nothing)"} is not a program that can be started; fix the setting codexBridge.path`);
  }
  if (where.configFile) {
    throw new Error("codexBridge.configFile is set, and codex-bridge is not on PATH; install it, or set codexBridge.path");
  }
  const codex = find(where.codexPath || "codex");
  if (!codex) {
    throw new Error(
      where.codexPath
        ? `${where.codexPath} is not a program that can be started; fix the setting codexBridge.codexPath`
        : "neither codex-bridge nor codex is on PATH; install them, or set codexBridge.path and codexBridge.codexPath",
    );
  }
  return { kind: "codex", name: "codex", command: codex, args: ["app-server"], env: {}, framing: "lines" };
}

/** A finder that looks where the platform looks. Relative paths are refused: they would be a repository's. */
export function finder(
  isProgram: (file: string) => boolean,
  environment: { PATH?: string | undefined; PATHEXT?: string | undefined },
  windows: boolean,
): (name: string) => string | undefined {
  const rules = windows ? path.win32 : path.posix;
  const endings = windows ? ["", ...(environment.PATHEXT ?? ".EXE;.CMD").split(";")].filter((e) => e === "" || /^\.(exe|com)$/i.test(e)) : [""];
  return (name) => {
    if (name === "") return undefined;
    const folders = rules.isAbsolute(name) ? [""] : /[\\/]/.test(name) ? [] : (environment.PATH ?? "").split(rules.delimiter);
    for (const folder of folders) {
      if (folder === "" && !rules.isAbsolute(name)) continue;
      for (const ending of endings) {
        const file = (folder ? rules.join(folder, name) : name) + ending;
        if (rules.isAbsolute(file) && isProgram(file)) return file;
      }
    }
    return undefined;
  };
}

export type Kept = { value: string | null };

/** What to write, and what to remember for the way back. Doing it twice keeps the first value. */
export function use(bridge: string, current: string | undefined, kept: Kept | undefined): { value: string; keep: Kept } {
  return { value: bridge, keep: current === bridge && kept ? kept : { value: current === bridge ? null : (current ?? null) } };
}

/** What to go back to; undefined takes the setting away. The error: it is not the bridge that stands there now. */
export function restore(bridge: string | undefined, current: string | undefined, kept: Kept | undefined): string | undefined {
  const ours = current !== undefined && (current === bridge || /(?:^|[\\/])codex-bridge(?:\.exe)?$/i.test(current));
  if (!ours) throw new Error(current ? `chatgpt.cliExecutable is ${current}, which is not the bridge: it stays` : "chatgpt.cliExecutable is not set");
  return kept?.value ?? undefined;
}
