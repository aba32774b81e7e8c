// Chooses the program to start, and its framing. Access to the disk is a parameter, for tests.
import * as path from "node:path";
import * as strings from "./strings/bridge";

export interface Program {
  readonly kind: "bridge" | "codex";
  readonly name: string;
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
  readonly framing: "headers" | "lines";
}

export interface ProgramSettings {
  readonly path: string;
  readonly codexPath: string;
  readonly configFile: string;
}

export const defaultPath = "codex-bridge";

/** Returns the program of the settings. A program that is set but missing is an error: it is never replaced by one without a gate. */
export function choose(settings: ProgramSettings, find: (name: string) => string | undefined): Program {
  const bridge = find(settings.path);
  if (bridge) {
    const env: Record<string, string> = {};
    if (settings.codexPath) env["CODEX_BRIDGE_CODEX"] = settings.codexPath;
    if (settings.configFile) env["CODEX_BRIDGE_CONFIG"] = settings.configFile;
    return { kind: "bridge", name: "codex-bridge", command: bridge, args: ["app-server"], env, framing: "headers" };
  }
  if (settings.path !== defaultPath) {
    throw new Error(strings.program.noBridgeAt(settings.path));
  }
  if (settings.configFile) {
    throw new Error(strings.program.configWithoutBridge);
  }
  const codex = find(settings.codexPath || "codex");
  if (!codex) {
    throw new Error(settings.codexPath ? strings.program.noCodexAt(settings.codexPath) : strings.program.nothing);
  }
  return { kind: "codex", name: "codex", command: codex, args: ["app-server"], env: {}, framing: "lines" };
}

/** Returns a function that finds programs on PATH. It rejects relative paths, which could name a file of the repository. */
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

export type SavedSetting = { value: string | null };

/** Returns the value of chatgpt.cliExecutable for the bridge, and the previous value to save. A second call keeps the first saved value. */
export function useBridgeSetting(bridge: string, current: string | undefined, saved: SavedSetting | undefined): { value: string; save: SavedSetting } {
  return { value: bridge, save: current === bridge && saved ? saved : { value: current === bridge ? null : (current ?? null) } };
}

/** Returns the saved value; undefined removes the setting. It throws if the setting does not name the bridge. */
export function restoreSetting(bridge: string | undefined, current: string | undefined, saved: SavedSetting | undefined): string | undefined {
  const isBridge = current !== undefined && (current === bridge || /(?:^|[\\/])codex-bridge(?:\.exe)?$/i.test(current));
  if (!isBridge) throw new Error(current ? strings.official.notTheBridge(current) : strings.official.notSet);
  return saved?.value ?? undefined;
}
