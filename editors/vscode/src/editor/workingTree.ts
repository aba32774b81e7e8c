// Shows the uncommitted changes of the folder as one list of diffs, by the Git extension of VS Code.
import * as vscode from "vscode";
import { escapeLinks } from "../core/approvalNotification";
import * as strings from "../core/strings/changes";
import { visibleLine } from "../core/text";

interface Changed {
  uri: vscode.Uri;
  originalUri: vscode.Uri;
}

/** The part of the API of the Git extension that is used. */
interface Git {
  getAPI(version: 1): {
    openRepository(root: vscode.Uri): Promise<Repository | null>;
    getRepository(uri: vscode.Uri): Repository | null;
    toGitUri(uri: vscode.Uri, ref: string): vscode.Uri;
  };
}

interface Repository {
  status(): Promise<void>;
  state: { HEAD?: { commit?: string }; indexChanges: Changed[]; workingTreeChanges: Changed[]; untrackedChanges?: Changed[] };
}

export async function showWorkingTree(folder: string, log: (line: string) => void): Promise<void> {
  const why = await show(folder).catch((cause: unknown) => (cause instanceof Error ? cause.message : String(cause)));
  if (why === undefined) return;
  log(`diff: ${why}`);
  void vscode.window.showInformationMessage(escapeLinks(visibleLine(why)));
}

/** Returns why there is nothing to show. */
async function show(folder: string): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<Git>("vscode.git");
  if (!extension || folder === "") return strings.workingTree.noGit;
  const git = (await extension.activate()).getAPI(1);
  const root = vscode.Uri.file(folder);
  const repository = git.getRepository(root) ?? (await git.openRepository(root));
  if (!repository) return strings.workingTree.noRepository;
  await repository.status();
  const { HEAD, indexChanges, workingTreeChanges, untrackedChanges = [] } = repository.state;
  const changes = new Map([...indexChanges, ...workingTreeChanges, ...untrackedChanges].map((one) => [one.uri.toString(), one]));
  if (changes.size === 0) return strings.workingTree.none;
  const ref = HEAD?.commit ? "HEAD" : "";
  const resources = [...changes.values()].map(({ uri, originalUri }) => [uri, git.toGitUri(originalUri, ref), uri]);
  await vscode.commands.executeCommand("vscode.changes", strings.workingTree.title, resources);
  return undefined;
}
