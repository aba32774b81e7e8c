// Identifies the process that runs a turn or writes files, so that another one can tell whether it still does.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** Returns the start time of a process, since an id alone may be in use again; undefined if the process does not run. */
function startTime(pid: number): string | undefined {
  try {
    if (process.platform === "win32") return process.kill(pid, 0) ? "" : undefined;
    if (process.platform !== "linux") return execFileSync("/bin/ps", ["-o", "lstart=", "-p", String(pid)], { env: { LC_ALL: "C", TZ: "UTC" }, stdio: "pipe" }).toString().trim();
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

/** The id of this process. */
export const ownId = `${process.pid} ${startTime(process.pid) ?? ""}`;

/** Reports whether the process of an id runs. */
export function isAlive(id: string): boolean {
  const [, pid, time] = /^(\d+) (.*)$/.exec(id) ?? [];
  return id === ownId || (pid !== undefined && startTime(Number(pid)) === time);
}

/** Returns the beginning of the names of the temporary files that a process writes. */
export const temporaryPrefix = (id: string): string => `.codex-bridge-${createHash("sha256").update(id).digest("hex").slice(0, 12)}`;

/** Reports whether a path is that of a temporary file. */
export const isTemporary = (path: string): boolean => /(?:^|\/)\.codex-bridge-[0-9a-f]{24}$/.test(path);
