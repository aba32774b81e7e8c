// What the editor's tools tell the model, as text.
import * as path from "node:path";

export interface Problem {
  path: string;
  line: number;
  column: number;
  severity: number;
  message: string;
  source: string;
}

export interface Symbol {
  name: string;
  kind: string;
  line: number;
  children: Symbol[];
}

const most = 200;
const severities = ["error", "warning", "information", "hint"];

/** One a line, the worst first; lines count from 1 as everywhere outside of editors. */
export function problems(all: Problem[]): string {
  if (all.length === 0) return "The editor reports no problems.";
  const sorted = all.toSorted((a, b) => a.severity - b.severity || a.path.localeCompare(b.path) || a.line - b.line);
  const lines = sorted.slice(0, most).map((p) => {
    const source = p.source ? ` [${p.source}]` : "";
    return `${p.path}:${p.line + 1}:${p.column + 1}: ${severities[p.severity] ?? "problem"}: ${p.message.replaceAll("\n", " ")}${source}`;
  });
  if (all.length > most) lines.push(`… and ${all.length - most} more`);
  return lines.join("\n");
}

export function symbols(all: Symbol[]): string {
  const lines: string[] = [];
  const walk = (list: Symbol[], indent: string): void => {
    for (const s of list) {
      if (lines.length === most) return;
      lines.push(`${indent}${s.kind} ${s.name} (line ${s.line + 1})`);
      walk(s.children, `${indent}  `);
    }
  };
  walk(all, "");
  return lines.length ? lines.join("\n") : "The editor knows no symbols of this file.";
}

/** The file that the model named, if it lies in the folder. */
export function inside(folder: string, name: unknown): string {
  if (typeof name !== "string" || name === "") throw new Error("path is missing; name a file, relative to the folder");
  const file = path.resolve(folder, name);
  const from = path.relative(folder, file);
  if (from === ".." || from.startsWith(`..${path.sep}`) || path.isAbsolute(from)) throw new Error(`${name} is outside of the folder`);
  return file;
}
