// The editor tools that the model may call. They are read-only.
import * as vscode from "vscode";
import type { DynamicTool, ToolResult } from "../core/protocol";
import { formatProblems, formatSymbols, resolveInFolders } from "../core/toolOutput";
import { relativePath } from "../core/text";
import { folders } from "./folder";

/** Returns the local folders of the workspace, the conversation's first. */
const foldersFrom = (cwd: string): string[] => [cwd, ...folders()];

const noParameters = { type: "object", properties: {}, additionalProperties: false };

export const definitions: DynamicTool[] = [
  {
    type: "function", name: "editor_problems",
    description: "Errors and warnings that the editor's language servers and linters report now, for one file or for the whole folder.",
    inputSchema: {
      type: "object", additionalProperties: false,
      properties: { path: { type: "string", description: "A file: relative to the folder, or absolute as editor_open_files names it. Without it: all files." } },
    },
  },
  {
    type: "function", name: "editor_symbols",
    description: "The symbols of a file (classes, functions, …) with their lines, as the editor's language server sees them.",
    inputSchema: {
      type: "object", additionalProperties: false, required: ["path"],
      properties: { path: { type: "string", description: "A file: relative to the folder, or absolute as editor_open_files names it." } },
    },
  },
  {
    type: "function", name: "editor_open_files",
    description: "The open files of the user's editor: the active one with its selection, and those with unsaved changes.",
    inputSchema: noParameters,
  },
];

export async function call(cwd: string, name: string, input: unknown): Promise<ToolResult> {
  try {
    return toResult(await run(cwd, name, (input ?? {}) as { path?: unknown }), true);
  } catch (cause) {
    return toResult(cause instanceof Error ? cause.message : String(cause), false);
  }
}

const toResult = (text: string, success: boolean): ToolResult => ({ contentItems: [{ type: "inputText", text }], success });

async function run(cwd: string, name: string, input: { path?: unknown }): Promise<string> {
  switch (name) {
    case "editor_problems": {
      const one = input.path === undefined ? undefined : vscode.Uri.file(resolveInFolders(foldersFrom(cwd), input.path));
      const all = one ? [[one, vscode.languages.getDiagnostics(one)] as const] : vscode.languages.getDiagnostics();
      return formatProblems(
        all.filter(([uri]) => uri.scheme === "file").flatMap(([uri, list]) =>
          list.map((d) => ({
            path: relativePath(cwd, uri.fsPath), line: d.range.start.line, column: d.range.start.character,
            severity: d.severity, message: d.message, source: d.source ?? "",
          })),
        ),
      );
    }
    case "editor_symbols": {
      const uri = vscode.Uri.file(resolveInFolders(foldersFrom(cwd), input.path));
      await vscode.workspace.openTextDocument(uri); // throws for a missing file
      const found = await vscode.commands.executeCommand<(vscode.DocumentSymbol | vscode.SymbolInformation)[] | undefined>(
        "vscode.executeDocumentSymbolProvider", uri,
      );
      return formatSymbols((found ?? []).map(toSymbol));
    }
    case "editor_open_files":
      return openFiles(cwd);
    default:
      throw new Error(`the editor has no tool ${name}`);
  }
}

interface Symbol {
  name: string;
  kind: string;
  line: number;
  children: Symbol[];
}

function toSymbol(symbol: vscode.DocumentSymbol | vscode.SymbolInformation): Symbol {
  const kind = vscode.SymbolKind[symbol.kind].toLowerCase();
  if ("location" in symbol) return { name: symbol.name, kind, line: symbol.location.range.start.line, children: [] };
  return { name: symbol.name, kind, line: symbol.range.start.line, children: symbol.children.map(toSymbol) };
}

function openFiles(cwd: string): string {
  const active = vscode.window.activeTextEditor;
  const lines = vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .flatMap((tab) => (tab.input instanceof vscode.TabInputText && tab.input.uri.scheme === "file" ? [{ tab, uri: tab.input.uri }] : []))
    .map(({ tab, uri }) => {
      const marks = [];
      if (tab.isDirty) marks.push("not saved");
      if (active?.document.uri.toString() === uri.toString()) {
        const { start, end, isEmpty } = active.selection;
        marks.push("active", isEmpty ? `cursor in line ${start.line + 1}` : `lines ${start.line + 1} to ${end.line + 1} selected`);
      }
      return relativePath(cwd, uri.fsPath) + (marks.length ? ` (${marks.join(", ")})` : "");
    });
  return lines.length ? lines.join("\n") : "No file is open.";
}
