// Formats the results of the editor tools for the model.
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

const maxLines = 200;
const severities = ["error", "warning", "information", "hint"];

/** Formats one problem per line, the most severe first. Line numbers start at 1. */
export function formatProblems(all: Problem[]): string {
  if (all.length === 0) return "The editor reports no problems.";
  const sorted = all.toSorted((a, b) => a.severity - b.severity || a.path.localeCompare(b.path) || a.line - b.line);
  const lines = sorted.slice(0, maxLines).map((p) => {
    const source = p.source ? ` [${p.source}]` : "";
    return `${p.path}:${p.line + 1}:${p.column + 1}: ${severities[p.severity] ?? "problem"}: ${p.message.replaceAll("\n", " ")}${source}`;
  });
  if (all.length > maxLines) lines.push(`… and ${all.length - maxLines} more`);
  return lines.join("\n");
}

export function formatSymbols(all: Symbol[]): string {
  const lines: string[] = [];
  const walk = (list: Symbol[], indent: string): void => {
    for (const s of list) {
      if (lines.length === maxLines) return;
      lines.push(`${indent}${s.kind} ${s.name} (line ${s.line + 1})`);
      walk(s.children, `${indent}  `);
    }
  };
  walk(all, "");
  return lines.length ? lines.join("\n") : "The editor has no symbols for this file.";
}

/** Returns the absolute path of a file, or throws if it is outside the folders. A relative name belongs to the first one. */
export function resolveInFolders(folders: string[], name: unknown): string {
  if (typeof name !== "string" || name === "") throw new Error("path is missing; name a file, relative to the folder");
  const file = path.resolve(folders[0] ?? "", name);
  const isInside = folders.some((folder) => {
    const from = path.relative(folder, file);
    return from !== ".." && !from.startsWith(`..${path.sep}`) && !path.isAbsolute(from);
  });
  if (!isInside) throw new Error(`${name} is outside the folder`);
  return file;
}
